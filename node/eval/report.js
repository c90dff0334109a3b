const rows = [...document.querySelectorAll('.row')].map(row => [row, null]);
const standing = document.getElementById('standing'), words = document.getElementById('words');
const count = document.getElementById('count');
function filter() {
  const wanted = standing.value, text = words.value.toLowerCase().trim();
  let shown = 0;
  for (const pair of rows) {
    const [row, known] = pair;
    let fits = !wanted || row.dataset.standing === wanted || (wanted === 'flaw' && row.dataset.flaw);
    if (fits && text) fits = (pair[1] = known ?? row.textContent.toLowerCase()).includes(text);
    row.hidden = !fits;
    shown += fits;
  }
  count.textContent = shown + ' of ' + rows.length + ' shown';
}
if (standing) { standing.onchange = filter; words.oninput = filter; filter(); }
