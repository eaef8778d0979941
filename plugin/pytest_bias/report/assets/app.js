// Routes: an address is made of ids of experiment, model, hypothesis and trial, never of a place or of data.
const summary = id("summary"), view = id("view"), main = id("main");
const nothing = (what, ids) => ["Not here", h("div", h1(`There is no such ${what} in this report`), h("p", ids.join(" · ")), h("p", a("#/hypotheses", "All hypotheses"), " · ", a("#/replies", "all replies")))];
const parsed = () => {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const part = text => { try { return decodeURIComponent(text); } catch { return text; } };
  return [path.split("/").filter(Boolean).map(part), Object.fromEntries(new URLSearchParams(query || ""))];
};
const routed = ([name, ...rest], q) => {
  if (name === "hypotheses") return hypothesesView(q);
  if (name === "h" && rest.length === 3) return hypothesisView(...rest, q);
  if (name === "upgrade") return upgradeView(q);
  if (name === "replies") return rest.length ? repliesView(rest[0], q) : repliesIndex();
  if (name === "t" && rest.length === 3) return trialView(...rest);
  if (name === "label" && rest.length < 3) return rest.length ? labelView(rest[0], rest[1], q) : labelsIndex();
  if (name === "e" && rest.length === 2) return experimentView(...rest);
  return nothing("page", [location.hash]);
};
let turn = 0, started = false;
const show = async () => {
  say("");
  const [parts, q] = parsed(), mine = ++turn, fixed = !parts.length && summary;
  const [title, made] = fixed ? [fixed.querySelector("h1").textContent, fixed] : await routed(parts, q);
  if (mine !== turn) return;
  document.title = visible(`${title} · bias report`);
  // What is not shown is not there either: pages stay light.
  summary.remove(); view.replaceChildren();
  (fixed ? main : view).append(made);
  view.hidden = Boolean(fixed);
  for (const link of document.querySelectorAll(".bar nav a")) {
    const here = link.getAttribute("href").slice(2), at = { h: "hypotheses", t: "replies", label: "replies", e: "" }[parts[0]] ?? parts[0] ?? "";
    if (here === at) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (started) { scrollTo(0, 0); made.querySelector("h1").focus({ preventScroll: true }); }
  started = true;
};
addEventListener("hashchange", show);
// On paper every page is the summary.
let printed = false;
addEventListener("beforeprint", () => { printed = !summary.isConnected; if (printed) main.append(summary); });
addEventListener("afterprint", () => { if (printed) summary.remove(); });
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && !/^(radio|checkbox)$/.test(event.target.type)) return;
  if (event.key === "Enter" && /^(A|BUTTON|SUMMARY)$/.test(event.target.tagName)) return;
  if (event.key === "/") { event.preventDefault(); id("search").focus(); }
  else {
    const link = view.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); } else if (/^[jk]$/.test(event.key) && !document.activeElement.closest(".virtual")) view.querySelector(".virtual a")?.focus();
  }
});
id("search").form.addEventListener("submit", event => {
  event.preventDefault();
  location.hash = to(["hypotheses"], { q: id("search").value });
  id("search").value = "";
});
document.documentElement.className = "";
load().then(() => {
  // As text the summary has numbers alone.
  for (const cell of summary.querySelectorAll("td.draw")) {
    const ids = cell.parentNode.querySelector("a").getAttribute("href").split("/").slice(2).map(decodeURIComponent);
    put(cell, strip(named(...ids)));
  }
  show();
});
