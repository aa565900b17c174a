"use strict";
(() => {
  document.documentElement.classList.add("js");

  // Numbers sort by their value, everything else as text; what is missing comes last either way.
  const key = (cell) => (cell.dataset.v === undefined ? null : Number(cell.dataset.v));
  const compare = (column, sign) => (a, b) => {
    const [x, y] = [a.cells[column], b.cells[column]];
    const [p, q] = [key(x), key(y)];
    if (p !== null && q !== null) return sign * (p - q);
    if (p !== null) return -1;
    if (q !== null) return 1;
    return sign * x.textContent.localeCompare(y.textContent, "en", { numeric: true });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const headers = [...table.tHead.rows[0].cells];
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      header.replaceChildren(button);
      button.addEventListener("click", () => {
        const rising = header.getAttribute("aria-sort") !== "ascending";
        headers.forEach((other) => other.removeAttribute("aria-sort"));
        header.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].sort(compare(column, rising ? 1 : -1));
        table.tBodies[0].append(...rows);
      });
    });
  }

  // A legend hides and shows what is drawn of a filter in its figure.
  for (const legend of document.querySelectorAll("figure .legend")) {
    const panels = legend.closest("figure").querySelector(".panels");
    for (const item of legend.children) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(...item.childNodes);
      item.append(button);
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        for (const part of panels.querySelectorAll('g[data-f="' + item.dataset.f + '"]')) part.classList.toggle("off", !shown);
      });
    }
  }

  for (const chooser of document.querySelectorAll("[data-chooser]")) {
    const choices = [...chooser.querySelectorAll(".choice")];
    const select = chooser.querySelector("select");
    const show = () => choices.forEach((choice) => choice.classList.toggle("chosen", !select || choice.id === select.value));
    if (select) select.addEventListener("change", show);
    show();
  }

  const form = document.getElementById("cell-filter");
  const table = document.querySelector("#cell-table table");
  if (form && table) {
    const headers = [...table.tHead.rows[0].cells].map((header) => header.textContent);
    const [filterColumn, statusColumn] = [headers.indexOf("filter"), headers.indexOf("status")];
    const update = () => {
      const text = form.elements.text.value.toLowerCase();
      const filter = form.elements.filter.value;
      const status = form.elements.status.value;
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const is = row.cells[statusColumn].textContent;
        const fits =
          (!text || row.textContent.toLowerCase().includes(text)) &&
          (!filter || row.cells[filterColumn].textContent === filter) &&
          (!status || is === status || is.startsWith(status + ":"));
        row.hidden = !fits;
        if (fits) shown += 1;
      }
      document.getElementById("cell-count").textContent = shown + " of " + table.tBodies[0].rows.length + " rows";
    };
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    update();
  }

  // A cell that a spreadsheet would read as a formula is kept a text.
  const csvCell = (value) => {
    if (value === null) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const makers = {
    json: (data) => [JSON.stringify(data.rows.map((row) => Object.fromEntries(row.map((value, i) => [data.columns[i], value])))), "application/json"],
    csv: (data) => [[data.columns, ...data.rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n", "text/csv"],
  };
  for (const button of document.querySelectorAll("[data-download]")) {
    button.addEventListener("click", () => {
      const kind = button.dataset.download;
      const [text, type] = makers[kind](JSON.parse(document.getElementById("data").textContent));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type }));
      link.download = "cells." + kind;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
})();
