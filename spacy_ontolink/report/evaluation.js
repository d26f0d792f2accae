// The table of mentions: everything from the data becomes text, never markup; one page of rows is drawn at a time.
"use strict";
{
  const PAGE = 100;
  const LONGEST = 200; // characters of a mention that are shown at once
  const RELATIONS = ["parent", "child", "sibling", "ancestor", "descendant", "far"];
  const data = JSON.parse(document.getElementById("data").textContent);
  const rows = data.rows.map((values, place) => {
    const row = Object.fromEntries(data.columns.map((name, column) => [name, values[column]]));
    const entities = [...row.gold, ...(row.best ? [row.best] : [])];
    row.place = place;
    row.words = [row.mention, row.document, row.label, ...entities.flatMap((one) => [...one.slice(0, 3), ...one[4]])].join("\n").toLowerCase();
    return row;
  });

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
  const soft = (text) => element("small", { class: "soft line" }, text);

  const entity = ([id, name, matched, , written]) => {
    const link = data.links[id] ? element("a", { href: data.links[id], rel: "noreferrer" }, id) : id;
    const parts = [link, " ", name === null ? element("span", { class: "bad" }, "unknown") : name];
    return element("span", { class: "line" }, ...parts, ...(matched ? [soft("by “" + matched + "”")] : []),
      ...(written.length ? [soft("in the file: " + written.join(", "))] : []));
  };
  const mention = (row) => {
    const letters = row.mention.length > LONGEST ? [...row.mention] : [];
    const isLong = letters.length > LONGEST;
    const marked = element("mark", {}, isLong ? letters.slice(0, LONGEST).join("") + "…" : row.mention);
    const all = element("summary", {}, "all " + letters.length.toLocaleString("en") + " characters");
    const whole = isLong ? [element("details", { dir: "auto" }, all, row.mention)] : [];
    return [element("span", { dir: "auto" }, row.left, marked, row.right), ...whole, soft([row.document, row.label, row.overlap].filter(Boolean).join(" · "))];
  };
  const answer = (row) => {
    const good = row.verdict === "right" || row.verdict === "nil";
    const badge = element("span", { class: "badge line " + (good ? "good" : "bad") }, data.verdicts[row.verdict]);
    const first = row.best && row.answer !== "linked" ? [soft("best candidate:")] : [];
    return [badge, ...first, ...(row.best ? [entity(row.best)] : [])];
  };
  const relation = (row) => {
    const steps = row.steps ? row.steps + (row.steps === 1 ? " step" : " steps") : "not connected";
    return row.relation ? [row.relation, soft(steps)] : ["–"];
  };
  const rank = (row) => {
    const own = row.gold.length ? (row.rank ? String(row.rank) : "not found") : "–";
    return row.before === null ? [own] : [own, soft("there " + (row.before || "–"))];
  };
  const ofStage = (stage) => (row) => {
    const [best, gold] = [row.best, row.gold.find((one) => one[3].length && one[3][stage] !== null)];
    const other = gold && best && gold[0] !== best[0] ? [soft("gold " + score(gold[3][stage]))] : [];
    return [score(best ? best[3][stage] : null), ...other];
  };

  const first = (entities) => (entities.length ? (entities[0][1] || entities[0][0]).toLowerCase() : null);
  const number = (value) => (value === undefined ? null : value);
  const heads = [
    { name: "mention", key: (row) => row.mention.toLowerCase(), draw: mention, kind: "mention" },
    { name: "gold", key: (row) => first(row.gold), draw: (row) => (row.gold.length ? row.gold.map(entity) : ["–"]), kind: "entity" },
    { name: "answer", key: (row) => first(row.best ? [row.best] : []), draw: answer, kind: "entity" },
    ...(rows.some((row) => row.relation)
      ? [{ name: "hierarchy", key: (row) => (row.relation ? row.steps || 1e6 : null), draw: relation, kind: "near" }] : []),
    { name: "rank of gold", key: (row) => (row.gold.length ? row.rank || 1e6 : null), draw: rank, kind: "figure" },
    ...data.stages.map((name, stage) => ({ name, key: (row) => number(row.best && row.best[3][stage]), draw: ofStage(stage), kind: "figure" })),
  ];
  if (rows.some((row) => row.probability !== null))
    heads.push({ name: "probability", key: (row) => number(row.probability), draw: (row) => [score(row.probability)], kind: "figure" });

  const form = document.querySelector(".filters");
  const [table, pager] = [document.getElementById("table"), document.querySelector(".pager")];
  const [head, body] = [table.querySelector("thead tr"), table.querySelector("tbody")];
  const state = { page: 0, sort: null, down: false, shown: rows };

  const fill = (name, values, words = (value) => value || "(none)") => {
    const select = form.elements[name];
    const counts = new Map();
    for (const row of rows) counts.set(row[name], (counts.get(row[name]) || 0) + 1);
    for (const value of values.filter((one) => counts.has(one)))
      select.append(element("option", { value: "=" + value }, words(value) + " (" + counts.get(value).toLocaleString("en") + ")"));
    select.parentElement.hidden = counts.size < 2 || select.options.length < 2;
  };
  const better = (row) => (row.before || Infinity) - (row.rank || Infinity);

  const matches = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = ["verdict", "relation", "overlap", "label"].filter((name) => wanted[name]);
    return rows.filter((row) =>
      words.every((word) => row.words.includes(word)) &&
      chosen.every((name) => (wanted[name] === "wrong" ? row.verdict !== "right" && row.verdict !== "nil" : "=" + row[name] === wanted[name])) &&
      (!wanted.change || (wanted.change === "better" ? better(row) > 0 : better(row) < 0)));
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(state.shown.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const from = state.page * PAGE;
    body.replaceChildren(...state.shown.slice(from, from + PAGE).map((row) =>
      element("tr", {}, ...heads.map(({ name, draw, kind }) => element("td", { class: kind, "data-head": name }, ...draw(row))))));
    const total = state.shown.length.toLocaleString("en");
    document.getElementById("count").textContent = total + " of " + rows.length.toLocaleString("en") + " mentions";
    document.getElementById("page").textContent = "page " + (state.page + 1) + " of " + pages;
    document.getElementById("previous").disabled = state.page === 0;
    document.getElementById("next").disabled = state.page === pages - 1;
    pager.hidden = pages === 1;
  };
  const refresh = () => {
    state.shown = matches();
    if (state.sort !== null) {
      const { key } = heads[state.sort];
      const keys = new Map(state.shown.map((row) => [row, key(row)]));
      const turn = state.down ? -1 : 1;
      const order = (a, b) => // what has no key comes last, whichever way the rows are sorted
        a === null || b === null ? (a === null) - (b === null) : turn * ((a > b) - (a < b));
      state.shown.sort((a, b) => order(keys.get(a), keys.get(b)) || a.place - b.place);
    }
    [...head.children].forEach((cell, place) => {
      if (place === state.sort) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    state.page = 0;
    draw();
  };
  const sortBy = (place, down) => {
    state.sort = place;
    state.down = down;
    form.elements.sort.value = place === null ? "" : (down ? "-" : "+") + place;
    refresh();
  };
  const turnTo = (page) => {
    state.page = page;
    draw();
    table.scrollIntoView();
  };

  heads.forEach(({ name, kind }, place) => {
    const button = element("button", { type: "button" }, name);
    button.addEventListener("click", () => sortBy(place, state.sort === place && !state.down));
    head.append(element("th", { scope: "col", class: kind }, button));
  });
  form.elements.sort.append(element("option", { value: "" }, "order of the file"));
  heads.forEach(({ name }, place) => form.elements.sort.append(
    element("option", { value: "+" + place }, name + ", ascending"), element("option", { value: "-" + place }, name + ", descending")));
  const distinct = (name) => [...new Set(rows.map((row) => row[name]))].sort();
  form.elements.verdict.append(element("option", { value: "wrong" }, "all that went wrong"));
  fill("verdict", Object.keys(data.verdicts), (value) => data.verdicts[value]);
  fill("relation", RELATIONS);
  fill("overlap", ["HO", "LO", "NO"]);
  fill("label", distinct("label"));
  form.elements.change.parentElement.hidden = rows.every((row) => row.before === null);
  const start = () => {
    form.elements.verdict.value = rows.some((row) => row.verdict !== "right" && row.verdict !== "nil") ? "wrong" : "";
    sortBy(null, false);
  };
  form.addEventListener("input", (event) => {
    const value = form.elements.sort.value;
    if (event.target === form.elements.sort) sortBy(value ? Number(value.slice(1)) : null, value.startsWith("-"));
    else refresh();
  });
  form.addEventListener("reset", (event) => { event.preventDefault(); form.elements.search.value = "";
    for (const name of ["relation", "overlap", "label", "change"]) form.elements[name].value = ""; start(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("previous").addEventListener("click", () => turnTo(state.page - 1));
  document.getElementById("next").addEventListener("click", () => turnTo(state.page + 1));
  form.hidden = table.hidden = false;
  start();
}
