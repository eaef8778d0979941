// Before and now. What may have got worse stands first, is never folded and never green.
const OUTCOMES = ["worse", "new", "expired", "undecided", "known", "not in the baseline", "improved", "as before"];
const toneOf = row => row.stops ? "biased" : row.open ? "open" : row.outcome === "known" ? "described" : (named(row.e, row.m, row.id) || {}).tone || "clear";
const upgradeView = q => {
  if (!run.upgrade) return nothing("comparison", ["held against no other model"]);
  const all = run.upgrade.rows.map(row => ({ ...row, margin: (named(row.e, row.m, row.id) || {}).margin || (row.limit === null ? null : row.scale === "ratio" ? Math.exp(row.limit) : row.limit) }));
  const asked = q.outcome || "", of = outcome => all.filter(row => outcome === "open" ? row.open && !row.stops : row.outcome === outcome);
  const rows = asked ? (asked === "stops" ? all.filter(row => row.stops) : of(asked)) : all.filter(row => row.open || row.outcome !== "as before");
  const chip = (value, words, n) => n > 0 && h("a.chip", { href: to(["upgrade"], { outcome: value }), "aria-current": asked === value && "true" }, `${words} `, h("b", n));
  const body = rowsIn(rows.slice(0, 120), row => h("tr", { class: row.stops && "stopping" },
    h("th", { scope: "row" }, a(address(row), row.title), sub(`${row.e} · ${row.id}`, run.models.length > 1 && ` · ${row.m}`)),
    h("td", h("span", { class: `outcome t-${toneOf(row)}` }, row.outcome), row.stops && h("span.stops", "stops it"), row.open && !row.stops && sub("look at it")),
    h("td.draw", dumbbell(row)),
    h("td.n", row.before && sub(`${row.before[0]} ${row.before[1]} →`), `${row.now[0]} ${row.now[1]}`),
    h("td.n", row.bound || "no bound", sub(row.how)),
    h("td.said", row.said)));
  say(plural(rows.length, "row"));
  return ["Upgrade", h("div", h1(`${run.models.join(", ")} against ${run.old}`),
    h("p.note", WORDS.upgrade),
    h("p.chips", chip("", "all but as before", all.filter(row => row.open || row.outcome !== "as before").length), chip("stops", "stops it", all.filter(row => row.stops).length), chip("open", "moved, undecided", of("open").length), OUTCOMES.map(outcome => chip(outcome, outcome, of(outcome).length)),
      csvButton("upgrade.csv", () => [["experiment", "model", "hypothesis", "outcome", "stops", "before", "now", "larger by at most", "compared", "why"], ...rows.map(r => [r.e, r.m, r.id, r.outcome, r.stops ? "yes" : "no", r.before && r.before[2], r.now[2], r.bound, r.how, r.said])])),
    rows.length ? scrolled("Hypotheses before and now", "rows upgrade",
      h("thead", h("tr", ["What should hold", "Outcome", "÷ margin, −6 to 6", "Before → now", "Larger by at most", "Why"].map(words => h("th", { scope: "col" }, words)))), body) : none(),
    rows.length > 120 && h("p", `… and ${rows.length - 120} more; the CSV has all.`))];
};
