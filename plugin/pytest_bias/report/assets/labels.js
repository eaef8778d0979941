// Labels of people: replies of every model in an order that says nothing, without what would sway whoever labels.
const given = new Map(), drafts = new Map(), KEY = "reply key", NOTE = "reviewer note";
let bare = false;
const unsaved = () => [...given.values()].filter(each => !each.saved).length;
addEventListener("beforeunload", event => { if (unsaved()) { event.preventDefault(); event.returnValue = true; } });
// Keys are digests: sorted by them, replies stand in one random order, the same in every copy of the report.
const deskOf = async (e, m) => (await Promise.all(modelsOf(e).filter(each => !m || each === m).map(async of => {
  const block = await trialsOf(e, of);
  return !block ? [] : block.keys.flatMap((key, i) => key && block.missing[i] < 0 ? [{ key, m: of, block, i }] : []);
}))).flat().sort((a, b) => (a.key < b.key ? -1 : 1));
// What the judge was told, or else the replies, without the names that stand for a level.
const seenBlind = (block, i) => {
  const talk = block.talk(i), judge = talk.find(each => each.judge && each.told.length);
  if (judge) return judge.told.map(([role, text]) => [`as the judge is told (${role})`, text]);
  const names = block.factors.flatMap(f => (f.by?.[i] >= 0 ? [f.exemplars[f.by[i]]] : [])).filter(Boolean);
  return talk.filter(each => !each.why).map(each => ["reply", names.reduce((text, name) => text.replaceAll(name, "[NAME]"), each.reply)]);
};
const answersOf = measures => {
  const [{ kind, bounds }] = measures, [low, high] = bounds || [];
  if (kind === "flag") return ["yes", "no"];
  if (kind === "category") return [...new Set(measures.flatMap(each => [...each.categories, ...(each.labels || [])]))].sort();
  const whole = Number.isInteger(low) && measures.every(each => each.values.every(v => v == null || Number.isInteger(v)));
  return whole && high - low <= 9 ? upTo(high - low + 1).map(n => String(low + n)) : [];
};
// A form has its fields as properties, before its own ("append"): a space behind a name, and it is none of those.
const question = (measure, blocks, value) => {
  const { name, kind, unit, meaning, bounds } = measure, field = name + " ", answers = answersOf(blocks.map(each => each.measure[name])), words = [spaced(name), unit && ` (${unit})`];
  if (answers.length && answers.length < 11) return h("fieldset", h("legend", words), meaning && sub(meaning), answers.map((answer, k) => {
    const pressed = kind === "number" ? answer : String(k + 1), digit = /^\d$/.test(pressed) && pressed;
    return h("label", h("input", { type: "radio", name: field, value: answer, checked: answer === value, "data-digit": digit }), kind !== "number" && digit && h("kbd", digit), spaced(answer));
  }));
  if (answers.length && answers.length < 61) return select(field, words, [["", "–"], ...answers.map(answer => [answer, spaced(answer)])], value || "", () => {});
  return h("label", words, h("input", { name: field, value, autocomplete: "off", ...(kind === "number" ? { type: "number", step: "any", min: bounds?.[0], max: bounds?.[1] } : {}) }));
};
const countWords = () => [given.size ? `${given.size} labelled, ${unsaved()} not saved · ` : "None labelled yet", given.size > 0 && h("a", { href: "#/label", "data-key": "s" }, "save CSV")];
const labelView = async (e, key, q) => {
  const desk = await deskOf(e, q.m), at = Math.max(-1, key ? desk.findIndex(each => each.key === key) : Math.max(0, desk.findIndex(each => !given.has(each.key))));
  if (!desk[at]) return nothing("reply that can be labelled", key ? [e, key] : [e]);
  const { m, block, i, key: own } = desk[at], kept = given.get(own), values = map(drafts.get(own) || kept && { ...kept.values, [NOTE]: kept.note }), blocks = [...new Set(desk.map(each => each.block))];
  const there = each => to(["label", e, each.key], q), near = (by, words, pressed) => desk[at + by] && h("a", { href: there(desk[at + by]), "data-key": pressed }, words);
  const asked = names => names.map(name => question(block.measure[name], blocks, values[name]));
  // A note keeps every sign of it: set as it is, and not shown as text from outside is.
  const note = h("textarea", { name: NOTE, rows: 2, onkeydown: event => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); form.requestSubmit(); } } }), filledIn = () => Object.fromEntries([...new FormData(form)].flatMap(([field, value]) => value ? [[field.trim(), value]] : []));
  note.value = values[NOTE] || "";
  const form = h("form.labels", { onsubmit: event => {
    event.preventDefault();
    const { [NOTE]: note, ...values } = filledIn();
    if (!Object.keys(values).length) { form.lastChild.textContent = "answer a question first"; return say("Answer a question first."); }
    drafts.delete(own);
    given.set(own, { e, m, trial: block.ids[i], key: own, values, note: note || "", saved: false });
    const open = [...desk.slice(at + 1), ...desk.slice(0, at)].find(each => !given.has(each.key));
    location.hash = open ? there(open) : "#/label";
  }, onchange: () => { drafts.set(own, filledIn()); keyed(); } },
  asked(block.asked.first), block.asked.others.length > 0 && folded("other measures", asked(block.asked.others)),
  h("label", "note", note),
  h("button", { "data-key": "Enter" }, kept ? "change the label" : "label, and on to the next"));
  // A digit answers the first question that is open.
  const keyed = () => {
    const open = form.querySelector(":scope > fieldset:not(:has(:checked))");
    form.querySelectorAll("[data-digit]").forEach(each => { if (open?.contains(each)) each.dataset.key = each.dataset.digit; else delete each.dataset.key; });
  };
  keyed();
  const shown = h("label.switch", h("input", { type: "checkbox", checked: bare, onchange: event => { bare = event.target.checked; show(); } }), "show model, levels and grades");
  return [`Label replies: ${nameOf(e)}`, h("div", h("p.crumbs", a("#/replies", "Replies"), " / ", a("#/label", "Labels"), h("span.tools", near(-1, "◂ before", "k"), near(1, "next ▸", "j"), shown)),
    h1(`Label replies: ${nameOf(e)}`), h("p.note", `Reply ${grouped(at + 1)} of ${grouped(desk.length)}, in random order. `, countWords(), " · Keys: digits answer, Enter labels, j and k move, s leads to the files."),
    bare && [h("p.contrast", a(to(["t", e, m, block.ids[i]]), block.ids[i]), ` · ${m}`), measured(block, i, block)],
    h("div.columns.desk", h("section", { "aria-label": "What was said" }, bare ? [h("h2", "Conversation"), talk(block, i)] : seenBlind(block, i).map(([role, text]) => h("div.turn.answer", h("h2", role), h("p.text", text || "(nothing)")))), form))];
};
const labelsOf = (e, m) => [...given.values()].filter(each => each.e === e && each.m === m).sort((a, b) => (a.trial < b.trial ? -1 : 1));
const labelRows = (e, m) => {
  const own = labelsOf(e, m), names = [...new Set(own.flatMap(each => Object.keys(each.values)))].sort(), noted = own.some(each => each.note);
  own.forEach(each => { each.saved = true; });
  setTimeout(show);
  return [["trial", KEY, ...names, ...(noted ? [NOTE] : [])], ...own.map(each => [each.trial, each.key, ...names.map(name => {
    const value = map(each.values)[name] ?? "";
    return value !== "" && String(+value) === value ? +value : value;
  }), ...(noted ? [each.note] : [])])];
};
// The rows of a file of labels, as it was saved.
const csvRows = text => {
  const rows = [[""]];
  for (const [, quoted, plain, end] of text.replace(/^\ufeff/, "").matchAll(/"((?:[^"]|"")*)"|([^",\r\n]+)|(,|\r?\n)/g)) {
    if (end === ",") rows.at(-1).push("");
    else if (end) rows.push([""]);
    else rows.at(-1).push(rows.at(-1).pop() + (plain ?? quoted.replaceAll("\x22\x22", "\x22")));
  }
  return rows.filter(row => row.length > 1).map(row => row.map(cell => cell.replace(/^'(?=\s*[=+\-@＝＋－＠])/, "")));
};
const continued = async (e, m, file) => {
  const block = await trialsOf(e, m), at = new Map(block.keys.map((key, i) => [key, i])), [head = [], ...rows] = csvRows(await file.text());
  const of = rows.map(row => Object.fromEntries(head.map((name, k) => [name, row[k] || ""]))).filter(row => at.has(row[KEY]));
  // What was labelled here since is newer than the file.
  const read = of.filter(row => given.get(row[KEY])?.saved !== false);
  for (const row of read) {
    const key = row[KEY], values = Object.fromEntries(Object.entries(row).filter(([name, value]) => value && Object.hasOwn(block.measure, name)));
    given.set(key, { e, m, trial: block.ids[at.get(key)], key, values, note: row[NOTE] || "", saved: true });
  }
  await show();
  say(`${plural(read.length, "label")} read; ${rows.length - of.length} of other replies left aside; ${of.length - read.length} labelled here since, and kept.`);
};
const labelsIndex = async () => {
  const blocks = await Promise.all(run.replies.map(async ([e, m, stem]) => ({ e, m, stem, kept: (await trialsOf(e, m)).keys.length })));
  return ["Labels", h("div", h("p.crumbs", a("#/replies", "Replies")), h1("Labels"),
    h("p", WORDS.labels),
    h("p", countWords()),
    blocks.some(each => each.kept) ? table("Experiments and models whose replies can be labelled", ["Experiment", "Model", "Labelled", "File", "Save", "Go on with a file"], blocks.filter(each => each.kept).map(({ e, m, stem }) => [
      a(to(["label", e]), nameOf(e)), m, labelsOf(e, m).length, `${e}/${stem}.csv`, labelsOf(e, m).length > 0 && csvButton(`${stem}.csv`, () => labelRows(e, m)),
      h("input", { type: "file", accept: ".csv", "aria-label": `Labels of ${nameOf(e)}, ${m}`, onchange: event => event.target.files[0] && continued(e, m, event.target.files[0]) })])) : h("p", "No text is kept of any reply in this copy."))];
};
