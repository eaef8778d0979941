// Trials in rows, filtered; one experiment with one model, its controls, judge and record.
const twice = block => block.measures.filter(each => block.measure[`${each.name}_again`]);
const unlike = (block, i) => twice(block).some(each => {
  const again = block.word(block.measure[`${each.name}_again`], i);
  return again && again !== "not_scored" && block.missing[i] < 0 && again !== block.word(each, i);
});
const main4 = block => block.measures.filter(each => !/_again$/.test(each.name)).slice(0, 4);
const repliesIndex = () => ["Replies", h("div", h1("Replies"),
  run.replies.length ? table("Experiments and models with their trials", ["Experiment", "Model", "Trials"], run.analyses.filter(of => modelsOf(of.e).includes(of.m)).map(of => [a(repliesOf(of.e, { m: of.m }), nameOf(of.e)), of.m, of.trials]))
    : gone())];
const repliesView = async (e, q) => {
  const models = modelsOf(e), m = models.includes(q.m) ? q.m : models[0], block = m && await trialsOf(e, m);
  if (!block) return nothing("experiment with trials", [e]);
  const other = models.find(each => each !== m);
  const shown = main4(block);
  const count = h("span.count"), list = h("div");
  let found = [];
  const draw = async () => {
    const beside = q.show === "differs" && other && await trialsOf(e, other), words = (q.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const lower = n => (block.lower ||= [])[n] ??= block.text(n).toLowerCase();
    const levels = block.factors.filter(f => q[`f.${f.name}`]).map(f => [f.at, f.levels.indexOf(q[`f.${f.name}`])]);
    found = upTo(block.count).filter(i => levels.every(([at, level]) => at[i] === level)
      && (q.show !== "missing" || block.missing[i] >= 0) && (q.show !== "invalid" || block.invalid[i] > 0) && (q.show !== "unlike" || unlike(block, i)) && (q.show !== "differs" || differs(block, i, beside))
      && words.every(word => block.ids[i].toLowerCase().includes(word) || block.why(i).toLowerCase().includes(word) || (block.said[i] || []).some(said => lower(said[2]).includes(word))));
    count.textContent = found.length === block.count ? found.length : `${found.length} of ${block.count}`;
    say(plural(found.length, "trial"));
    put(list, found.length ? virtual(`Trials of ${e} with ${m}`, ["trial", ...shown.map(each => spaced(each.name)), block.texts.length ? "reply, or why there is none" : "why there is none"], found.length, k => {
      const i = found[k], why = block.why(i);
      return [h("span", { role: "cell" }, a(to(["t", e, m, block.ids[i]]), block.ids[i])), shown.map(each => h("span", { role: "cell" }, block.word(each, i) || "–")), h("span", { role: "cell", class: "excerpt" }, why ? h("b", `missing: ${why}`) : block.reply(i).slice(0, 160))];
    }) : none());
  };
  const form = filtered(["replies", e], q, changed => [
    searched(q.q || "", changed),
    models.length > 1 && select("m", "model", models.map(each => [each, each]), m, (_, value) => { location.hash = repliesOf(e, { ...q, m: value }); }),
    block.factors.filter(f => f.levels.length < 60).map(f => select(`f.${f.name}`, spaced(f.name), [["", "all"], ...f.levels.map(level => [level, spaced(level)])], q[`f.${f.name}`] || "", changed)),
    select("show", "show", [["", "all"], ["missing", "missing"], ["invalid", "with an invalid reply"], ...(twice(block).length ? [["unlike", "judge’s two grades differ"]] : []), ...(other ? [["differs", `other than ${other}`]] : [])], q.show || "", changed),
    csvButton(`${e}.csv`, () => [["trial", ...block.factors.map(f => f.name), ...block.measures.map(each => each.name), "missing", ...(block.texts.length ? ["reply"] : [])],
      ...found.map(i => [block.ids[i], ...block.factors.map(f => block.name(f, i)), ...block.measures.map(each => each.kind === "number" ? each.values[i] : block.word(each, i)), block.why(i), ...(block.texts.length ? [block.reply(i)] : [])])]),
  ], draw);
  await draw();
  return [`Replies: ${nameOf(e)}`, h("div", h("p.crumbs", a("#/replies", "Replies"), " / ", a(to(["e", e, m]), "controls, judge and record"), block.keys.length > 0 && [" / ", a(to(["label", e]), "label replies blind")]),
    h1(nameOf(e), " ", count), form, h("p.note", block.texts.length ? "" : "No text is kept of this experiment. ", "Keys: j and k move, Enter opens."), list)];
};
const differs = (block, i, beside) => {
  const at = beside && beside.at.get(block.ids[i]);
  return at != null && (block.why(i) !== beside.why(at) || main4(block).some(each => !each.unit && beside.measure[each.name] && block.word(each, i) !== beside.word(beside.measure[each.name], at)));
};
const tones = { seen: "clear", agrees: "clear", "not seen": "biased", "not relied on": "biased", "hardly agrees": "open" };
const listed = value => value !== null && typeof value === "object"
  ? h("ul", Object.entries(value).map(([key, item]) => h("li", !Array.isArray(value) && h("b", `${key}: `), listed(item)))) : String(value);
const experimentView = (e, m) => {
  const found = run.analyses.find(each => each.e === e && each.m === m);
  if (!found) return nothing("experiment and model", [e, m]);
  const block = (title, each) => [h("h3", title), h("p", badge(each.badge, tones[each.badge] || "none"), " ", each.said), pairs(each.facts)];
  const counts = rowsOf(found.counts), total = name => counts.reduce((sum, row) => sum + (row[name] || 0), 0);
  const sums = {};
  counts.forEach(row => Object.entries(row.missing).forEach(([why, n]) => { sums[why] = (sums[why] || 0) + n; }));
  const reasons = of => Object.entries(of).map(([why, n]) => `${n} ${why}`).join(", "), lost = reasons(sums);
  return [nameOf(e), h("div", h("p.crumbs", a("#/", "Summary"), " / ", a(to(["hypotheses"], { e, m }), "its hypotheses"), " / ", a(repliesOf(e, { m }), "its replies")),
    h1(nameOf(e)), h("p.contrast", m, found.simulated && " (simulated: a program that stands in for a model)"),
    h("h2", "Record"), pairs(found.facts),
    h("h2", "Positive controls"), found.controls.length ? found.controls.map(each => block(each.title, each)) : h("p", WORDS.uncontrolled),
    found.judge.length > 0 && [h("h2", "Judge"), found.judge.map(each => block(each.title, each))],
    found.figures.length > 0 && [h("h2", "Figures"), h("p.note", "They describe, and have no part in any verdict."), found.figures.map(figure)],
    h("h2", "Completeness"), h("p", `${total("ok")} of ${total("planned")} trials valid${lost ? `; missing: ${lost}` : ""}; ${total("cut")} cut off at the limit on tokens. An invalid reply is asked for again while attempts are left.`),
    virtual("Trials of each condition", ["condition", "planned", "valid", "missing", "invalid replies"], counts.length, k => [counts[k].condition, counts[k].planned, counts[k].ok, reasons(counts[k].missing) || "–", reasons(counts[k].invalid) || "–"].map(cell => h("span", { role: "cell" }, cell)), "reasons"),
    Object.keys(found.about).length > 0 && [h("h2", "About the experiment"), h("dl.pairs", Object.entries(found.about).map(([key, value]) => h("div", h("dt", spaced(key)), h("dd", listed(value)))))])];
};
// The figures an experiment asks for: rates and means as coloured cells, or as points with intervals.
const figure = shown => {
  const said = v => v === null ? "none" : shown.flag ? percent(v, 1) : +v.toPrecision(4);
  const values = shown.spots.map(spot => spot.value).filter(v => v !== null);
  const [low, high] = shown.bounds || [Math.min(...values), Math.max(...values)];
  if (!values.length) return [h("h3", shown.title), h("p", "No valid reply: there is nothing to draw.")];
  if (shown.kind === "heatmap") return [h("h3", shown.title), (shown.by ? shown.by.levels : [null]).map(by => {
    const at = (x, y) => shown.spots.find(spot => spot.x === x && spot.y === y && spot.by === by);
    return [by !== null && h("h4", `${spaced(shown.by.name)}: ${spaced(by)}`), table(`${shown.title} ${by || ""}`, ["", ...shown.x.levels.map(spaced)], shown.y.levels.map(y => [spaced(y), ...shown.x.levels.map(x => {
      const spot = at(x, y), step = spot.value === null ? "none" : Math.min(8, Math.max(0, Math.floor(9 * (spot.value - low) / (high - low || 1))));
      return h("td", { class: `heat h${step}` }, said(spot.value), sub(`n = ${spot.replies}`));
    })]), "levels")];
  }), h("p.note", `${shown.measure === "missing" ? "Share of the trials without a valid reply" : shown.flag ? "Share of the valid replies" : "Mean of the valid replies"}; the colours run from ${said(low)} to ${said(high)}.`)];
  const all = shown.spots.flatMap(spot => spot.value === null ? [] : spot.interval ? [spot.interval.low, spot.interval.high] : [spot.value]);
  const [from, until] = [Math.min(...all), Math.max(...all)], at = v => 6 + 188 * (v - from) / (until - from || 1);
  return [h("h3", shown.title), table(shown.title, [spaced(shown.x.name), ...(shown.by ? [spaced(shown.by.name)] : []), `${said(from)} to ${said(until)} ${shown.unit}`, shown.flag ? "Rate" : "Mean", "95 % interval", "n", "missing"],
    shown.spots.map(spot => [spaced(spot.x), ...(shown.by ? [spaced(spot.by)] : []), spot.value === null ? "" : little({ class: "strip bare" }, spot.interval && s("path.thick.t-described", { d: `M${px(at(spot.interval.low))} 10H${px(at(spot.interval.high))}` }), s("path.mark.t-described", { d: mark("clear", at(spot.value), 10), "data-value": spot.value })),
      said(spot.value), spot.interval ? `${said(spot.interval.low)} to ${said(spot.interval.high)}` : spot.why || "–", spot.replies, Object.values(spot.missing).reduce((a, b) => a + b, 0) || ""]), "numbers")];
};
