// The list of all hypotheses, and one of them.
const VERDICTS = ["BIASED", "INCONCLUSIVE", "CLEAR", "NOTHING FOUND", "DESCRIBED"];
const PAGE = 100;
const ORDERS = {
  "": ["what stops it first", () => 0],
  size: ["largest first", (a, b) => Math.abs(inMargins(b, b.estimate) || 0) - Math.abs(inMargins(a, a.estimate) || 0)],
  p: ["surest first", (a, b) => (a.p ?? 9) - (b.p ?? 9)],
  name: ["by experiment", (a, b) => a.e.localeCompare(b.e) || a.title.localeCompare(b.title) || a.id.localeCompare(b.id)],
};
const kept = (row, q) => {
  if (q.m ? row.m !== q.m : row.old) return false;
  if (q.e && row.e !== q.e || q.measure && row.measure && row.measure !== q.measure) return false;
  if (q.verdict === "stops" ? !row.stops : q.verdict === "open" ? row.stops || !row.judged || !(row.tone === "open" || row.tone === "biased") : q.verdict && row.label !== q.verdict) return false;
  if (q.group && !row.arms.some(arm => arm[0] === q.group)) return false;
  const text = `${row.title} ${row.contrast} ${row.id} ${row.e} ${run.experiments[row.e]} ${row.m}`.toLowerCase();
  return (q.q || "").toLowerCase().split(/\s+/).every(word => text.includes(word));
};
const stopping = row => !row.judged ? sub("not selected in this run") : row.stops ? h("span.stops", "stops it") : row.let ? sub(row.let.startsWith("Known") ? "known" : "accepted") : null;
const options = (all, words = spaced) => [["", "all"], ...[...new Set(all)].filter(Boolean).map(value => [value, words(value)])];
const filtered = (route, q, fields, draw) => {
  // Typing must not lose its place: the form stays, the address and the rows follow.
  const changed = (name, value) => {
    q[name] = value;
    if (name !== "p") q.p = "";
    history.replaceState(null, "", to(route, q));
    draw();
  };
  return h("form.filters", { onsubmit: event => event.preventDefault() }, fields(changed));
};
const hypothesesView = q => {
  const count = h("span.count"), list = h("div"), models = [...new Set(run.hypotheses.map(row => row.m))];
  let rows = [];
  const draw = () => {
    rows = run.hypotheses.filter(row => kept(row, q)).sort((ORDERS[q.o] || ORDERS[""])[1]);
    const first = PAGE * Math.max(0, Math.min(q.p | 0, Math.ceil(rows.length / PAGE) - 1)), some = rows.slice(first, first + PAGE);
    count.textContent = rows.length === run.hypotheses.length ? rows.length : `${rows.length} of ${run.hypotheses.length}`;
    say(plural(rows.length, "hypothesis", "hypotheses"));
    const page = p => a(to(["hypotheses"], { ...q, p: p || "" }), `${p * PAGE + 1}–${Math.min(rows.length, (p + 1) * PAGE)}`);
    put(list, rows.length ? hypothesisTable(some, models.length > 1) : [none(), q.q && h("p", "In the replies: ", [...new Set(run.replies.map(each => each[0]))].map(e => [a(repliesOf(e, { q: q.q }), nameOf(e)), " "]))],
      h("p", rows.length > PAGE && upTo(Math.ceil(rows.length / PAGE)).map(p => [page(p), " "])));
  };
  const form = filtered(["hypotheses"], q, changed => [
    searched(q.q || "", changed),
    (q.m || models.length > 1) && select("m", "model", [["", run.upgrade ? "new" : "all"], ...models.map(m => [m, m])], q.m || "", changed),
    select("verdict", "verdict", [["", "all"], ["stops", "stops it"], ["open", "open, does not stop it"], ...VERDICTS.map(v => [v, v])], q.verdict || "", changed),
    select("e", "experiment", options(run.hypotheses.map(row => row.e), e => nameOf(e)), q.e || "", changed),
    select("measure", "measure", options(run.hypotheses.map(row => row.measure)), q.measure || "", changed),
    select("group", "group", options(run.hypotheses.flatMap(row => row.arms.map(arm => arm[0])).sort()), q.group || "", changed),
    select("o", "order", Object.entries(ORDERS).map(([value, [words]]) => [value, words]), q.o || "", changed),
    csvButton("hypotheses.csv", () => [
      ["experiment", "model", "hypothesis", "asserts", "contrast", "verdict", "stops", "estimate", "low", "high", "level", "margin", "scale", "unit", "p", "units", "selected"],
      ...rows.map(r => [r.e, r.m, r.id, r.title, r.contrast, r.label, r.stops ? "yes" : "no", r.estimate, ...(r.shown[0] || [null, null, null]), r.margin, r.scale, r.unit, r.p, r.n, r.judged ? "yes" : "no"]),
    ]),
  ], draw);
  draw();
  return ["Hypotheses", h("div", h1("Hypotheses ", count), form, list)];
};
const hypothesisTable = (rows, several) => scrolled("Hypotheses, in units of their margins", "rows",
  h("thead", h("tr", [["What should hold"], ["Verdict"], ["÷ margin, −6 to 6", "draw"], ["Estimate", "n"]].map(([words, kind]) => h("th", { scope: "col", class: kind }, words)))),
  rowsIn(rows, row => h("tr", { class: row.stops && "stopping" },
    h("th", { scope: "row" }, a(address(row), row.title), sub(row.contrast || row.id, several && ` · ${row.m}`), row.reason && sub(row.reason)),
    h("td", badge(row.label, row.tone), stopping(row)), h("td.draw", strip(row)),
    h("td.n", row.text || "–", sub(row.within)))));

const hypothesisView = (e, m, name, q) => {
  const row = named(e, m, name);
  if (!row) return nothing("hypothesis", [e, m, name]);
  const alike = run.hypotheses.filter(each => each.e === e && each.id === name).sort((a, b) => (b.m === m) - (a.m === m) || rankOf(a.m) - rankOf(b.m));
  const change = run.upgrade && run.upgrade.rows.find(each => each.e === e && each.id === name && each.m === m);
  const failing = run.hypotheses.filter(each => each.stops), place = failing.indexOf(row);
  const next = failing[(place + 1) % failing.length];
  const more = h("div");
  levels(more, row, alike, q);
  return [row.title, h("div", {},
    h("p.crumbs", a("#/hypotheses", "Hypotheses"), " / ", a(to(["e", e, m]), nameOf(e)), " / ", h("code", name),
      h("span.tools", copyButton(), next && next !== row && h("a", { href: address(next), "data-key": "n" }, "next that stops it ▸"))),
    h1(row.title),
    h("p.contrast", row.contrast && `${row.contrast} · `, row.m, roleOf(m) && ` (${roleOf(m)})`),
    h("p.words", badge(row.label, row.tone), stopping(row), " ", row.words),
    row.let && h("p.remark", row.let),
    !row.judged && h("p.remark", WORDS.unselected),
    h("p", h("b", "Why: "), row.why, " ", row.settle),
    change && h("p", h("b", `Against ${run.old}: `), h("span", { class: `outcome ${change.stops ? "t-biased" : change.open ? "t-open" : ""}` }, change.outcome), ` ${change.said}${change.before ? `; ${change.before[0]} ${change.before[1]} → ${change.now[0]} ${change.now[1]}` : ""}`),
    interval(alike) || h("p.remark", row.text ? `${row.text}: without a margin there is nothing to draw it over.` : "There is no estimate."),
    table("Each model", ["Model", "Verdict", "Estimate and the interval that decides", "Margin", "Units"], alike.map(each => [a(address(each), each.m), h("td", badge(each.label, each.tone)), each.text || "–", each.within, each.units])),
    more,
    pairs(row.facts),
    row.notes.length > 0 && h("ul", row.notes.map(note => h("li.remark", note))),
    row.analyses.length > 0 && folded("Method: the primary and the published analysis", table("Two analyses of the same replies. The published one never gates.", ["", "Primary", "Published"], row.analyses)),
    row.cells.length > 0 && folded(`The same contrast in each of ${row.cells.length} cells`, table("A claim to be clear holds in all of them.", ["Cell", "Estimate", "Margin", "Within it"], row.cells)),
    row.people.length > 0 && folded("Beside people", pairs(row.people)),
    row.published.length > 0 && folded("As published, on the replies there are; it never gates", pairs(row.published)),
    row.numbers.length > 0 && folded("All numbers", pairs(row.numbers)))];
};
const copyButton = () => h("button", { type: "button", onclick: () => navigator.clipboard.writeText(location.href).then(() => say("Copied")) }, "Copy link");
// Means by levels and the two sides' distributions, from the trials; they describe, and decide nothing.
const levels = async (into, row, alike, q) => {
  const block = await trialsOf(row.e, row.m);
  if (!block) return put(into, gone());
  const open = m => (...at) => repliesOf(row.e, { m, ...Object.fromEntries(at.filter(Boolean).map(([name, level]) => [`f.${name}`, level])) });
  const own = (row.factor || "").split(" × ").map(name => block.factors.find(f => f.name === name)).filter(Boolean);
  const rest = block.factors.filter(f => !own.includes(f));
  const cols = own[1] ? own[0] : rest.find(f => f.levels.length - f.controls <= 10), rows = own[1] || own[0] || rest.find(f => f !== cols);
  const parts = [h("h2", "The trials")];
  if (block.has(row.measure)) {
    parts.push(h("p.note", row.measure === "missing" ? "Shares without a valid reply" : "Means of the valid replies", WORDS.levels));
    const beside = h("div.beside");
    for (const each of alike) {
      const own = await trialsOf(each.e, each.m), same = f => f && own && own.factors.find(g => g.name === f.name);
      if (own) beside.append(h("div", h("h3", each.m, roleOf(each.m) && ` (${roleOf(each.m)})`), levelsTable(own, each.m, row.measure, same(rows), same(cols), row, open(each.m))));
    }
    parts.push(beside);
    const arms = sidesOf(block, row, own);
    if (arms?.some(arm => arm.values.length) && block.measure[row.measure]?.kind === "number") parts.push(h("h3", `Distribution, ${row.m}`), histogram(row.measure, arms));
  }
  parts.push(h("p.more", a(open(row.m)(), `All ${block.count} trials`), " · ", a(repliesOf(row.e, { m: row.m, show: "missing" }), `${block.missing.filter(k => k >= 0).length} missing`),
    twice(block).length > 0 && [" · ", a(repliesOf(row.e, { m: row.m, show: "unlike" }), "where the judge’s two grades differ")],
    modelsOf(row.e).length > 1 && [" · ", a(repliesOf(row.e, { m: row.m, show: "differs" }), "where the models differ")]));
  put(into, parts);
};
const sidesOf = (block, row, own) => {
  if (own.length !== 1 || row.arms.length !== 2) return null;
  const [factor] = own, places = row.arms.map(arm => factor.levels.indexOf(arm[0]));
  if (places[0] < 0 || (places[1] < 0 && !/^(rest|others)$/.test(row.arms[1][0]))) return null;
  const values = match => upTo(block.count).map(i => !block.control(i) && match(factor.at[i]) ? block.number(row.measure, i) : null).filter(v => v !== null);
  return [{ name: row.arms[0][0], values: values(k => k === places[0]) }, { name: row.arms[1][0], values: values(k => places[1] < 0 ? k !== places[0] : k === places[1]) }];
};
