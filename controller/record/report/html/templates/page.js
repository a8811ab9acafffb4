"use strict";
// Unpacks the decisions and shows those that are looked at. Everything else on the page is there without this.
(async () => {
  const place = document.getElementById("decisions");
  if (!place) return;
  const packed = Uint8Array.from(atob(document.getElementById("packed").textContent.trim()), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { words, decisions } = JSON.parse(await new Response(stream).text());
  const started = Number(place.dataset.startedAt), PAGE = 40;
  const word = number => number < 0 ? "" : words[number];
  const make = (tag, className, ...parts) => { const e = document.createElement(tag); if (className) e.className = className; e.append(...parts); return e; };
  const shown = value => value === null ? "–" : value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
  const clock = seconds => new Date(1000 * (started + seconds)).toISOString().slice(11, 19);
  const verdicts = { move: "move", stay: "stay", refuse: "no move" };

  function table(headings, rows) {
    const head = make("tr", "", ...headings.map((h, i) => make("th", i ? "n" : "", h)));
    const body = rows.map(row => make("tr", "", ...row.map((cell, i) => make("td", i ? "n" : "", cell))));
    return make("div", "scroll", make("table", "", make("thead", "", head), make("tbody", "", ...body)));
  }
  function evidence(d) {
    const parts = [make("p", "", `Policy ${word(d[2])}. Now: ${word(d[4])}. Chosen: ${word(d[5])}.` +
      (d[6] === null ? "" : ` Expected saving ${shown(d[6])} $`) + (d[7] === null ? "" : `; cost of switching ${shown(d[7])} $`) + (d[8] ? "; a probe" : ""))];
    if (d[9].length) parts.push(table(["flavor", "$/hour", "tokens/s", "low", "high", "compute, s", "$/M tokens", "steps"], d[9].map(f =>
      [word(f[0]) + (f[8] < 0 ? "" : ` (${word(f[8])})`), ...f.slice(1, 8).map(shown)])));
    if (d[10].length) parts.push(table(["fleet", "step, s", "tokens/s", "$/hour", "$/M tokens", "remaining, s", "remaining, $"], d[10].map(f =>
      [word(f[0]), ...f.slice(1).map(shown)])));
    return parts;
  }
  function folded(summary, fill) {
    const details = make("details", "", make("summary", "", ...summary));
    details.addEventListener("toggle", () => { if (details.open && details.childElementCount === 1) details.append(...fill()); });
    return details;
  }
  const verdict = d => make("span", `verdict ${word(d[1])}`, verdicts[word(d[1])] || word(d[1]));
  const one = d => folded([`${clock(d[0])} `, verdict(d), ` ${word(d[3])}`], () => evidence(d));
  const group = run => run.length === 1 ? one(run[0]) : folded(
    [`${clock(run[0][0])} – ${clock(run[run.length - 1][0])} `, verdict(run[0]), ` × ${run.length}: ${word(run[run.length - 1][3])}`], () => run.map(one));
  function groups(wanted) {
    const found = [];
    for (const d of decisions) {
      if (wanted && word(d[1]) !== wanted) continue;
      const last = found[found.length - 1], same = last && last.length < 100 && last[0][1] === d[1] && last[0][4] === d[4] && last[0][5] === d[5];
      if (same) last.push(d); else found.push([d]);
    }
    return found;
  }
  let page = 0, all = groups("");
  const list = make("div", ""), told = make("span", "meta"), earlier = make("button", "", "earlier"), later = make("button", "", "later");
  const choice = make("select", ""); choice.setAttribute("aria-label", "Which decisions");
  for (const [value, text] of [["", "all decisions"], ["move", "moves"], ["refuse", "refusals"], ["stay", "stays"]]) { const o = make("option", "", text); o.value = value; choice.append(o); }
  function show() {
    const pages = Math.max(1, Math.ceil(all.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    list.replaceChildren(...all.slice(page * PAGE, (page + 1) * PAGE).map(run => make("div", "group", group(run))));
    told.textContent = `page ${page + 1} of ${pages}`;
    earlier.disabled = page === 0; later.disabled = page === pages - 1;
  }
  earlier.onclick = () => { page--; show(); };
  later.onclick = () => { page++; show(); };
  choice.onchange = () => { all = groups(choice.value); page = 0; show(); };
  place.replaceChildren(make("div", "pager", choice, earlier, later, told), list);
  show();
  place.dataset.ready = String(decisions.length);
})();
