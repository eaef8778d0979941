// Pictures. Estimates stand in units of their margins, ratios by their logarithms.
// 0 % means none, and 100 % all: what rounding would hide is said.
const percent = (v, n) => {
  const least = 10 ** -n, p = 100 * v;
  return (p > 0 && p < least / 2 ? `<${least}` : p < 100 && p > 100 - least / 2 ? `>${100 - least}` : p.toFixed(n)) + " %";
};
const px = value => Math.round(value * 10) / 10;
const inMargins = (row, value) => !row.margin || value == null ? null
  : row.scale !== "ratio" ? value / row.margin
  : value > 0 ? Math.log(value) / Math.log(row.margin) : -1e6;
const MARKS = {
  biased: [[-4, -4], [4, -4], [4, 4], [-4, 4]], open: [[0, -5.5], [5.5, 0], [0, 5.5], [-5.5, 0]],
  described: [[0, -5], [5, 4], [-5, 4]], none: [[-5, -4], [5, -4], [0, 5]],
};
const mark = (tone, x, y, size = 1) => tone === "clear" || tone === "before"
  ? `M${px(x - 4.5 * size)} ${px(y)}a${4.5 * size} ${4.5 * size} 0 1 0 ${9 * size} 0a${4.5 * size} ${4.5 * size} 0 1 0-${9 * size} 0Z`
  : "M" + MARKS[tone].map(([a, b]) => `${px(x + a * size)} ${px(y + b * size)}`).join("L") + "Z";
const scaleOf = (span, left, width) => value => left + width * (Math.min(span, Math.max(-span, value)) + span) / (2 * span);
const ends = (row, interval, at, y) => {
  const [low, high] = [inMargins(row, interval[0]), inMargins(row, interval[1])].sort((x, y) => x - y);
  return `M${px(at(low))} ${y}H${px(at(high))}`;
};
// An estimate beyond what is drawn is an arrow at the edge.
const point = (tone, value, at, y, span) => Math.abs(value) > span ? `M${px(at(value))} ${y}l${value < 0 ? 9 : -9} -5v10Z` : mark(tone, at(value), y);
const field = (at, high, span) => [
  s("path.band", { d: `M${px(at(-1))} 0H${px(at(1))}V${high}H${px(at(-1))}Z` }),
  s("path.zero", { d: `M${px(at(0))} 0V${high}` }),
];
// The intervals a verdict shows: the one that decides thick; of two the outer thin.
const drawn = (row, at, y, span, wide) => {
  const [thick, ...thin] = row.shown;
  const line = (kind, interval, high, data) => interval && s(`path.${kind}.t-${row.tone}`, { d: ends(row, interval, at, high), ...data });
  return [wide && line("hair", row.wide, y), line("thin", thin.at(-1), y), thick && line("thick", thick, y, { "data-low": thick[0], "data-high": thick[1] }),
    s(`path.mark.t-${row.tone}`, { d: point(row.tone, inMargins(row, row.estimate), at, y, span), "data-id": row.id, "data-model": row.m, "data-estimate": row.estimate, "data-margin": row.margin, "data-verdict": row.label })];
};
// Labels below a picture: the middle one, and as many on either side as the longest leaves room for; those at the ends stay inside.
const axis = (labels, middle, step, W, y) => {
  const wide = 7.5 * Math.max(...labels.map(([, said]) => said.length)), at = ([x]) => Math.min(W - wide / 2, Math.max(wide / 2, x));
  for (step = Math.ceil(step); ; step++) {
    const shown = labels.filter((_, i) => (i - middle) % step === 0);
    if (shown.every((one, i) => !i || at(one) - at(shown[i - 1]) > wide + 4)) return shown.map(one => s("text", { class: one[2] || "axis", x: px(at(one)), y }, one[1]));
  }
};
const little = (...kids) => s("svg.strip", { viewBox: "0 0 200 20", "aria-hidden": "true" }, kids);
const SPAN = 6;
const strip = row => {
  const size = inMargins(row, row.estimate);
  if (size == null) return sub(row.p == null ? "no estimate" : `no margin; p ${row.p < 1e-4 ? "< 0.0001" : "= " + row.p.toFixed(4)}`);
  // A ratio of 0 is beyond every number of margins.
  return [little(drawn(row, scaleOf(SPAN, 4, 192), 10, SPAN)), size > -1e6 && sub(`${fixed(size, 1).replace(/^(?!-)/, "+")} margins`)];
};
// As wide as there is room for, so that letters keep their size.
const room = () => Math.min(730, innerWidth - 36);
// One hypothesis with several models, over an axis in its own unit; beyond so many margins their band is a hair.
const FAR = 40;
const interval = rows => {
  const of = rows.filter(row => row.margin && row.estimate !== null);
  if (!of.length) return null;
  const far = of.flatMap(row => [row.estimate, ...row.shown.flatMap(i => i.slice(0, 2)), ...(row.wide || []).slice(0, 2)].map(v => Math.abs(inMargins(row, v))));
  const span = Math.min(FAR, Math.max(1.6, ...far) * 1.08), W = room(), LEFT = W < 600 ? 4 : 150, WIDE = W - LEFT - 20, at = scaleOf(span, LEFT, WIDE);
  const high = of.length * 38 + 8, one = of[0], margin = one.margin, ratio = one.scale === "ratio";
  const value = k => ratio ? margin ** k : k * margin;
  const said = v => ratio ? v.toFixed(2) : `${v > 0 ? "+" : ""}${+v.toFixed(digits(margin) + 1)}`.replace("-", "−");
  const most = Math.floor(span), ticks = upTo(2 * most + 1).map(i => i - most);
  return h("figure.chart", s("svg", { viewBox: `0 0 ${W} ${high + 40}`, role: "img", "aria-label": of.map(row => `${row.m}: ${row.label} ${row.text}, margin ${row.within}`).join("; ").slice(0, 290) },
    field(at, high, span),
    of.map((row, i) => [s("text", { x: 0, y: i * 38 + (W < 600 ? 12 : 26), class: "label" }, row.m.length > 20 ? row.m.slice(0, 19) + "…" : row.m), s("g", drawn(row, at, i * 38 + 22, span, true))]),
    axis(ticks.map(k => [at(k), said(value(k)), Math.abs(k) === 1 && "axis edge"]), most, span / 4, W, high + 15),
    s("text", { x: LEFT + WIDE / 2, y: high + 34, class: "axis" }, `${one.unit || one.quantity || ""}${ratio ? " (log scale)" : ""}`)),
  h("figcaption", "Band: the margin. Thick: the interval tested", of.some(row => row.shown.length > 1) && "; thin beside it: at the level of the alarm after Holm", "; hairline: 95 %", far.some(v => v > FAR) && "; an estimate beyond what is drawn is an arrow, and lines end at the edge", "."));
};
const dumbbell = row => {
  const [was, now] = [row.before && inMargins(row, row.before[2]), inMargins(row, row.now[2])];
  if (now == null) return sub(row.now[2] == null ? "no estimate" : "no margin");
  const at = scaleOf(SPAN, 4, 192), tone = toneOf(row);
  return little(
    was != null && [s(`path.thin.t-${tone}`, { d: `M${px(at(was))} 10H${px(at(now))}` }), s("path.hollow", { d: point("before", was, at, 10, SPAN), "data-before": row.before[2] })],
    s(`path.mark.t-${tone}`, { d: point(tone, now, at, 10, SPAN), "data-id": row.id, "data-now": row.now[2], "data-margin": row.margin }));
};
// Two arms over one axis, side by side where values are few.
const histogram = (title, arms) => {
  const all = arms.flatMap(arm => arm.values), few = [...new Set(all)].sort((a, b) => a - b);
  const low = Math.min(...all), high = Math.max(...all), whole = high - low < 60 && few.length <= 24 && few.every(Number.isInteger);
  const bins = whole ? high - low + 1 : 20, width = whole ? 1 : (high - low) / bins || 1;
  const counts = arms.map(arm => { const found = Array(bins).fill(0); for (const v of arm.values) found[Math.min(bins - 1, Math.floor((v - low) / width))]++; return found.map(n => n && n / arm.values.length); });
  const most = Math.max(...counts.flat()), W = room(), one = W / bins;
  const part = whole ? one * 0.8 / arms.length : one;
  return h("figure.chart", h("p.keys", arms.map((arm, k) => h("span", { class: `key s-${k}` }, `${spaced(arm.name)} (n = ${arm.values.length})`))),
    s("svg", { viewBox: `0 0 ${W} 150`, role: "img", "aria-label": `Distribution of ${title}: ${arms.map(arm => arm.name).join(" and ")}` },
      counts.map((found, k) => s("path", { class: `bars s-${k}`, d: found.map((n, i) => n ? `M${px(i * one + (whole ? one * 0.1 + k * part : 0))} 120v${-px(n / most * 110)}h${px(part)}V120Z` : "").join("") })),
      s("path.zero", { d: `M0 120H${W}` }),
      axis(upTo(bins + 1 - whole).map(i => [i * one + whole * one / 2, String(+(low + i * width).toFixed(digits(bins * width)))]), 0, bins / 12, W, 138)),
    h("figcaption", `Share of the valid replies of each side by ${spaced(title)}.`));
};
// Levels by levels: means with how many are missing; the colour is the distance from the mean of all, in margins.
const levelsTable = (block, m, name, rows, cols, row, open) => {
  const at = (f, i) => f ? f.at[i] : 0, levels = f => f ? f.levels.slice(0, f.levels.length - f.controls) : ["all"];
  const cell = levels(rows).map(() => levels(cols).map(() => ({ n: 0, sum: 0, lost: 0 })));
  let n = 0, sum = 0;
  for (let i = 0; i < block.count; i++) {
    if (block.control(i)) continue;
    const found = cell[at(rows, i)]?.[at(cols, i)], value = block.number(name, i);
    if (!found) continue;
    if (block.missing[i] >= 0) found.lost++;
    if (value !== null) { found.n++; found.sum += value; n++; sum += value; }
  }
  const mean = sum / n, far = Math.max(1e-9, ...cell.flat().filter(c => c.n).map(c => Math.abs(c.sum / c.n - mean)));
  // Of ratios it is a factor.
  const apart = v => !row.margin ? 4 * (v - mean) / far : inMargins(row, row.scale !== "ratio" ? v - mean : mean ? v / mean : 1);
  const share = name === "missing" || block.measure[name].kind === "flag";
  const words = v => share ? percent(v, 0) : fixed(v, digits(row.scale !== "ratio" && row.margin || (far + Math.abs(mean)) / 10));
  return table(`${spaced(name)} by ${rows ? spaced(rows.name) : "all"}${cols ? " and " + spaced(cols.name) : ""}, ${m}`, ["", ...levels(cols).map(spaced)],
    levels(rows).map((label, r) => [h("th", { scope: "row" }, spaced(label)), ...cell[r].map((c, k) => {
      const step = c.n ? Math.max(-4, Math.min(4, Math.round(apart(c.sum / c.n)))) : 0;
      return h("td", { class: `heat d${step < 0 ? "m" : "p"}${Math.abs(step)}` }, a(open(rows && [rows.name, label], cols && [cols.name, levels(cols)[k]]), c.n ? words(c.sum / c.n) : "none"),
        c.lost > 0 && name !== "missing" && sub(`${c.lost} missing`));
    })]), "levels");
};
