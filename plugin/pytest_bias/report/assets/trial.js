// One trial: what was asked and replied, what the judge saw and said, with every model side by side.
const MARK = "mark words that differ";
const trialView = async (e, m, name) => {
  const block = await trialsOf(e, m), at = block && block.at.get(name);
  if (at == null) return nothing("trial", [e, m, name]);
  const models = [m, ...modelsOf(e).filter(each => each !== m)].slice(0, 4), blocks = await Promise.all(models.map(each => trialsOf(e, each)));
  const places = blocks.map(each => each.at.get(name));
  const near = by => block.ids[at + by] !== undefined && h("a", { href: to(["t", e, m, block.ids[at + by]]), "data-key": by < 0 ? "k" : "j" }, by < 0 ? "◂ before" : "next ▸");
  const columns = h("div.columns", models.map((model, k) => h("section", { "aria-label": model }, h("h2", model, roleOf(model) && sub(roleOf(model))),
    places[k] === undefined ? h("p", "This model has no such trial.") : [measured(blocks[k], places[k], blocks[0], k ? at : undefined), talk(blocks[k], places[k])])));
  const compare = places[1] !== undefined && block.texts.length > 0 && h("button", { type: "button", "data-key": "d", "aria-pressed": "false", onclick: ({ currentTarget: button }) => {
    const on = button.ariaPressed !== "true";
    const [mine, theirs] = [...columns.children].slice(0, 2).map(each => [...each.querySelectorAll(".subject > p.text")]);
    const done = mine.map((left, i) => theirs[i] && marked(left, theirs[i], on));
    button.ariaPressed = done.includes(true);
    button.textContent = done.includes(false) ? "too long to mark in full" : MARK;
  } }, MARK);
  return [name, h("div", h("p.crumbs", a("#/replies", "Replies"), " / ", a(repliesOf(e, { m }), nameOf(e)), h("span.tools", near(-1), near(1), block.keys[at] && block.missing[at] < 0 && h("a", { href: to(["label", e, block.keys[at]]), "data-key": "l" }, given.has(block.keys[at]) ? "labelled" : "label"), compare, copyButton())),
    h1(name), h("p.contrast", block.factors.map(f => `${spaced(f.name)}: ${spaced(block.name(f, at) || "–")}` + (f.by && f.by[at] >= 0 ? ` (${f.exemplars[f.by[at]]})` : "")).join(" · "), block.control(at) && " · of a positive control"),
    columns)];
};
const measured = (block, i, first, at) => block.missing[i] >= 0 ? h("p", badge("missing", "open"), ` ${block.why(i)}`)
  : h("dl.measures", block.measures.map(each => {
    const word = block.word(each, i), other = at !== undefined && first.measure[each.name] && first.word(first.measure[each.name], at) !== word;
    return h("div", { class: other && "other" }, h("dt", { title: each.meaning }, spaced(each.name)), h("dd", word || "–", each.unit && ` ${each.unit}`));
  }));
// What is long scrolls in its place, by keyboard too.
const said_ = text => h("p.text", { tabindex: text.length > 500 || text.split("\n").length > 15 ? 0 : null }, text);
const talk = (block, i) => {
  const said = block.talk(i);
  if (!said.length) return h("p.remark", "No text is kept of this trial.");
  const graded = said.filter(each => each.judge).length;
  let grade = 0;
  return said.map(each => {
    const about = [each.judge ? "judge" : "reply", each.served && `served ${each.served}`, each.attempt > 1 && `attempt ${each.attempt} of ${each.of}`, each.finish !== true && `ended: ${each.finish}`, each.latency !== null && `${each.latency} s`, moment(each.at)].filter(Boolean).join(" · ");
    const body = [each.told.map(([role, text]) => h("div.turn", h("h3", each.judge ? `the judge is told (${role})` : role), said_(text))),
      h("div", { class: `turn answer ${each.judge ? "judge" : "subject"}` }, h("h3", about), said_(each.reply || "(nothing)"), each.why && h("p", badge("not valid", "open"), ` ${each.why}`))];
    return each.judge ? h("details", { open: true }, h("summary", `Judge${graded > 1 ? ` (${++grade} of ${graded})` : ""}: ${each.reply.slice(0, 90)}`), body) : body;
  });
};
// The words that are not in both, by their longest common subsequence: whether they are marked; false of texts too long.
const marked = (left, right, on) => {
  const texts = [left, right].map(each => each.textContent), [a, b] = texts.map(text => text.split(/(\s+)/));
  if (!on) return [left, right].forEach((each, k) => each.replaceChildren(texts[k]));
  if (a.length * b.length > 4e6) return false;
  const long = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length; i--;) for (let j = b.length; j--;) long[i][j] = a[i] === b[j] ? long[i + 1][j + 1] + 1 : Math.max(long[i + 1][j], long[i][j + 1]);
  const out = [[], []];
  const put = (k, word, own) => { const last = out[k][out[k].length - 1]; if (last && last[0] === own) last[1] += word; else out[k].push([own, word]); };
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) { put(0, a[i++], false); put(1, b[j++], false); }
    else if (j >= b.length || (i < a.length && long[i + 1][j] >= long[i][j + 1])) put(0, a[i++], true);
    else put(1, b[j++], true);
  }
  [left, right].forEach((each, k) => each.replaceChildren(...out[k].map(([own, word]) => own && word.trim() ? h("mark", word) : word)));
  return true;
};
