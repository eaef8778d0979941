// Elements. Text from outside goes in as text only; what would be obeyed in it is made visible.
const OBEYED = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const visible = text => String(text).replace(OBEYED, c => (c[1] ? "\\U" : "\\u") + c.codePointAt().toString(16).padStart(4 * c.length, "0"));
// ("p.note", {href: …}, text, nodes, lists): what is null, false or empty is left out. The value of a field is no
// text but data, and kept as it is.
const fill = (node, kids) => {
  for (const kid of kids.flat(9)) {
    if (kid == null || kid === false || kid === "") continue;
    if (typeof kid !== "object" || kid instanceof Node) node.append(kid instanceof Node ? kid : visible(kid));
    else for (const [name, value] of Object.entries(kid)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value != null && value !== false) node.setAttribute(name, value === true ? "" : name === "value" ? value : visible(value));
    }
  }
  return node;
};
// In the place of what a node had: of replaceChildren a list or a null would be text.
const put = (node, ...kids) => { node.replaceChildren(); return fill(node, kids); };
const made = space => (name, ...kids) => {
  const [tag, ...classes] = name.split("."), node = document.createElementNS(`http://www.w3.org/${space}`, tag);
  return fill(node, [classes.length > 0 && { class: classes.join(" ") }, kids]);
};
const h = made("1999/xhtml"), s = made("2000/svg");
const a = (href, ...kids) => h("a", { href }, kids);
const h1 = (...kids) => h("h1", { tabindex: -1 }, kids);
const sub = (...kids) => h("span.sub", kids);
// Sentences of the pages that are drawn here.
const WORDS = {
  levels: ", over all trials but those of controls; a colour is the distance from the mean of all, in margins where there is one (of ratios by logarithms), orange below and blue above. They describe; the estimate above is what was tested. A cell leads to its replies.",
  labels: "Read replies without knowing whose they are or what the judge said, and hold the judge beside you. Labels are in this page alone until they are saved. A file goes where it is named here, in the folder of labels: bias_tests/labels, or the one that --bias-labels names.",
  unselected: "Not selected in this run: it is analysed because it shares a family and a control with what was, and it does not count for the suite’s verdict.",
  upgrade: "Open circle: before; filled: now, in units of the margin. Estimates stand with their 95 % intervals; what decides is the upper bound of what the size of the effect has grown by, beside the most that is allowed.",
  uncontrolled: "The experiment has no positive control, so nothing in it but the share of missing replies can be called CLEAR.",
};
const id = name => document.getElementById(name);
const say = words => { id("said").textContent = words; };
const spaced = label => String(label).replaceAll("_", " ");
const none = () => h("p", "None is like that."), gone = () => h("p.remark", `The trials are not in this copy${run.replies.length ? "" : ": it is made of results alone, and the reports of the runs that gave them have theirs"}.`);
// What is looked up by a name from outside: a name that every object knows ("constructor") is none of it.
const map = pairs => ({ __proto__: null, ...pairs });
const upTo = n => [...Array(n).keys()];
// So many digits that what is as small as this is seen, and two at least.
const digits = least => least > 1e-9 ? Math.max(2, Math.ceil(1 - Math.log10(least))) : 2;
const fixed = (v, n) => (+v.toFixed(n) + 0).toFixed(n);
// Without Intl, whose first use takes longer than a route may.
const grouped = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (n, one, many) => `${grouped(n)} ${n === 1 ? one : many || one + "s"}`;
const badge = (label, tone) => h("span", { class: `badge t-${tone}` }, label);
const pairs = (facts, kind = "pairs") => h("dl", { class: kind }, facts.filter(f => f[1]).map(([name, value, note]) =>
  h("div", h("dt", name), h("dd", value, note && sub(note)))));
// What is wide scrolls in its place, by keyboard too.
const scrolled = (caption, kind, ...kids) => h("div.scroll", { tabindex: 0, role: "region", "aria-label": caption }, h("table", { class: kind }, h("caption.unseen", caption), kids));
const table = (caption, head, rows, kind = "") => scrolled(caption, kind,
  h("thead", h("tr", head.map(name => name ? h("th", { scope: "col" }, name) : h("td")))),
  h("tbody", rows.map(row => h("tr", row.map((cell, place) => cell instanceof Element && /^T[DH]$/.test(cell.tagName) ? cell
    : place ? h("td", cell) : h("th", { scope: "row" }, cell))))));
// The rows in sight first, the others when those are drawn.
const rowsIn = (rows, drawn, first = 20) => {
  const body = h("tbody", rows.slice(0, first).map(drawn));
  if (rows.length > first) requestAnimationFrame(() => setTimeout(() => fill(body, rows.slice(first).map(drawn))));
  return body;
};
const folded = (name, ...kids) => h("details", h("summary", name), kids);
const to = (parts, query) => {
  const asked = Object.entries(query || {}).filter(([, value]) => value !== "" && value != null);
  return "#/" + parts.map(encodeURIComponent).join("/") + (asked.length ? "?" + new URLSearchParams(asked) : "");
};
const select = (name, label, options, chosen, changed) => {
  // What an address asks for and is not there is shown all the same.
  const made = h("select", { name, onchange: () => changed(name, made.value) }, [...options, ...options.some(([value]) => value === chosen) ? [] : [[chosen, chosen]]].map(([value, words]) =>
    h("option", { value, selected: value === chosen }, words)));
  return h("label", label, made);
};
const searched = (value, changed) => {
  const made = h("input", { type: "search", name: "q", value, autocomplete: "off", oninput: () => changed("q", made.value) });
  return h("label", "search", made);
};
// RFC 4180; a text that begins as a formula does gets an apostrophe, by which spreadsheets know a text.
const csvCell = cell => {
  if (typeof cell === "number") return String(cell);
  let text = cell == null ? "" : String(cell);
  if (/^[\t\r\n]|^\s*[=+\-@＝＋－＠]/.test(text)) text = "'" + text;
  return /[\x22,\r\n]/.test(text) ? `"${text.replaceAll("\x22", "\x22\x22")}"` : text;
};
const csvText = rows => rows.map(row => row.map(csvCell).join(",") + "\r\n").join("");
const csvButton = (name, rows) => h("button", { type: "button", onclick: () => {
  const url = URL.createObjectURL(new Blob([csvText(rows())], { type: "text/csv" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
} }, "CSV");

// Rows of one height, of which only those in sight are there.
const virtual = (name, head, count, drawn, kind = "") => {
  const tall = innerWidth < 896, HIGH = tall ? 76 : 34, body = h("div.virtual-rows");
  const list = h("div.virtual", { class: `virtual ${tall ? "tall" : kind}`, tabindex: 0, role: "table", "aria-label": name, "aria-rowcount": count + 1 },
    h("div.virtual-row.head", { role: "row" }, head.map(words => h("span", { role: "columnheader" }, words))), body);
  body.style.height = `${count * HIGH}px`;
  let first = -1, at = 0;
  const draw = () => {
    const start = Math.max(0, Math.floor(list.scrollTop / HIGH) - 4);
    if (start === first) return;
    first = start;
    body.replaceChildren(...upTo(Math.min(26, count - start)).map(i => {
      const place = start + i, row = h("div.virtual-row", { role: "row", "aria-rowindex": place + 2 }, drawn(place));
      row.style.top = `${place * HIGH}px`;
      return row;
    }));
  };
  const move = by => {
    at = Math.min(count - 1, Math.max(0, at + by));
    if (at * HIGH < list.scrollTop || (at + 3) * HIGH > list.scrollTop + list.clientHeight) list.scrollTop = Math.max(0, (at - 3) * HIGH);
    draw();
    body.querySelector(`[aria-rowindex="${at + 2}"] a`)?.focus({ preventScroll: true });
  };
  list.addEventListener("scroll", draw, { passive: true });
  body.addEventListener("focusin", event => { at = event.target.closest("[role=row]").ariaRowIndex - 2; });
  list.addEventListener("keydown", event => {
    const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (by && !event.ctrlKey && !event.metaKey) { event.preventDefault(); move(by); }
  });
  draw();
  return list;
};
