// A click on a column's title sorts by what its cells keep in data-v; empty ones stay below.
document.querySelectorAll('table.sort').forEach(function (table) {
  table.querySelectorAll('th').forEach(function (head, column) {
    var button = head.querySelector('button');
    if (!button) return;
    button.addEventListener('click', function () {
      var up = head.getAttribute('aria-sort') !== 'ascending';
      table.querySelectorAll('th').forEach(function (other) { other.removeAttribute('aria-sort'); });
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      var body = table.tBodies[0];
      Array.from(body.rows).sort(function (a, b) {
        var x = a.cells[column].dataset.v, y = b.cells[column].dataset.v;
        if (x === y) return 0;
        if (x === '') return 1;
        if (y === '') return -1;
        var p = Number(x), q = Number(y);
        var order = isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
        return up ? order : -order;
      }).forEach(function (row) { body.appendChild(row); });
    });
  });
});
