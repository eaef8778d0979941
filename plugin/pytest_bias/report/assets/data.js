// Data: deflated columns beside the script, inflated when they are first asked for.
const inflated = new Map();
const inflate = name => {
  if (!inflated.has(name)) {
    const coded = atob(id(name).textContent), packed = new Uint8Array(coded.length);
    for (let i = coded.length; i--;) packed[i] = coded.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    inflated.set(name, new Response(stream).json());
  }
  return inflated.get(name);
};
const rowsOf = columns => {
  const names = Object.keys(columns);
  return names.length ? columns[names[0]].map((_, i) => Object.fromEntries(names.map(name => [name, columns[name][i]]))) : [];
};
let run;
const load = async () => {
  run = await inflate("d-run");
  run.hypotheses = rowsOf(run.hypotheses);
  if (run.upgrade) run.upgrade.rows = rowsOf(run.upgrade.rows);
  run.named = new Map(run.hypotheses.map(row => [`${row.e}\n${row.m}\n${row.id}`, row]));
};
const named = (e, m, name) => run.named.get(`${e}\n${m}\n${name}`);
const nameOf = e => run.experiments[e] || e;
const repliesOf = (e, q) => to(["replies", e], q);
const address = row => to(["h", row.e, row.m, row.id]);
const modelsOf = e => run.replies.filter(each => each[0] === e).map(each => each[1]).sort((a, b) => rankOf(a) - rankOf(b));
// The models of the run as it was asked for, the one they are held against after them.
const rankOf = m => (run.models.indexOf(m) + 1 || 99);
const roleOf = m => run.upgrade ? (run.models.includes(m) ? "new model" : "old model") : "";

const ESCAPED = { "/": "%2F", "#": "%23", "%": "%25" };
const escaped = name => name.replace(/[/#%]/g, c => ESCAPED[c]);
const trialsOf = async (e, m) => {
  const place = run.replies.findIndex(each => each[0] === e && each[1] === m);
  if (place < 0) return null;
  const block = await inflate(`d-${place}`);
  if (block.ids) return block;
  const factors = block.factors.filter(f => !f.item), items = block.factors.find(f => f.item);
  block.count = block.replicate.length;
  block.text = n => [block.texts[n]].flat().map(line => block.lines[line]).join("\n");
  block.name = (f, i) => f.at[i] < 0 ? "" : f.levels[f.at[i]];
  block.ids = block.replicate.map((n, i) => [
    factors.map(f => block.name(f, i)).join("-"),
    ...factors.filter(f => f.by?.[i] >= 0).map(f => escaped(f.exemplars[f.by[i]])),
    ...(items && items.at[i] >= 0 ? [items.levels[items.at[i]]] : []),
  ].join("/") + "#" + n);
  block.at = new Map(block.ids.map((name, i) => [name, i]));
  block.measure = map(Object.fromEntries(block.measures.map(each => [each.name, each])));
  block.control = i => block.factors.some(f => f.controls && f.at[i] >= f.levels.length - f.controls);
  block.why = i => block.missing[i] < 0 ? "" : block.reasons[block.missing[i]];
  block.word = (measure, i) => {
    const value = measure.values[i];
    if (measure.kind === "category") return value === undefined || value < 0 ? "" : measure.labels[value];
    return value == null ? "" : measure.kind === "flag" ? (value ? "yes" : "no") : Number.isInteger(value) ? String(value) : fixed(value, digits(Math.abs(value)));
  };
  // Of a flag a share; "missing" is one that every experiment has.
  block.number = (name, i) => {
    if (name === "missing") return block.missing[i] < 0 ? 0 : 1;
    const measure = block.measure[name];
    return measure && measure.kind !== "category" && block.missing[i] < 0 ? measure.values[i] : null;
  };
  block.has = name => name === "missing" || (block.measure[name] && block.measure[name].kind !== "category");
  block.talk = i => (block.said[i] || []).map(([player, told, reply, served, at, latency, finish, attempt, of, why]) => ({
    judge: player === "j", reply: block.text(reply), served: block.text(served), at, latency, finish, attempt, of, why: why == null ? "" : block.text(why),
    told: told.flatMap((part, place) => place % 2 ? [] : [[{ s: "system", u: "user", a: "assistant" }[part], block.text(told[place + 1])]]),
  }));
  block.reply = i => {
    const said = (block.said[i] || []).filter(each => each[0] === "s");
    return said.length ? block.text(said.at(-1)[2]) : "";
  };
  return block;
};
const moment = at => (at || "").replace("T", " ");
