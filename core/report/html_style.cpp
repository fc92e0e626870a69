// SPDX-License-Identifier: GPL-3.0-or-later
// The style of the window for a document: dark and light, and for print. It must not contain '<' or '&', so that the
// file stays well-formed.
#include "core/report/writers.h"

namespace qs {

const char* const kHtmlStyle = R"(
:root{color-scheme:light dark;--bg:#F4F6F9;--surface:#FFFFFF;--raised:#EDF0F5;--line:#DBE0E8;--text:#18202B;--muted:#566173;--faint:#66717F;--accent:#1560CC;--warn:#8A5F00}
@media screen and (prefers-color-scheme:dark){:root{--bg:#14171C;--surface:#1A1E25;--raised:#232933;--line:#2C333F;--text:#E7EBF1;--muted:#9AA5B5;--faint:#8792A4;--accent:#5AA9FF;--warn:#F0C75E}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:13px/1.5 Inter,system-ui,"DejaVu Sans",sans-serif}
header,main,footer{max-width:1080px;margin:0 auto;padding:0 24px}
header{padding-top:40px}
.brand{color:var(--accent);font-weight:600;font-size:12px}
h1{font-size:26px;line-height:1.25;font-weight:600;margin:4px 0 4px;overflow-wrap:anywhere}
h2{font-size:18px;font-weight:600;margin:40px 0 8px}
h3,figcaption{font-size:13px;font-weight:600;margin:0 0 8px}
p{margin:0 0 8px;max-width:76ch;color:var(--muted)}
header p{font-size:14px}
.note{border-left:3px solid var(--warn);background:var(--surface);padding:8px 12px;margin:0 0 12px;color:var(--text);max-width:none}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(236px,1fr));gap:12px;margin:12px 0}
.card,figure,.sheet{background:var(--surface);border:1px solid var(--line);border-radius:8px;margin:0}
.card{padding:12px 16px}
.card h3{font-family:"JetBrains Mono","DejaVu Sans Mono",monospace;overflow-wrap:anywhere;margin:0}
.card .sub{font:11px/1.4 "JetBrains Mono","DejaVu Sans Mono",monospace;color:var(--faint);overflow-wrap:anywhere;margin-bottom:12px}
.big{display:flex;flex-wrap:wrap;gap:4px 24px;margin-bottom:8px}
.big div{font:500 22px/1.2 "JetBrains Mono","DejaVu Sans Mono",monospace;font-variant-numeric:tabular-nums}
.big span{display:block;font:11px Inter,system-ui,sans-serif;color:var(--muted)}
dl{display:grid;grid-template-columns:1fr auto;gap:2px 12px;margin:0;border-top:1px solid var(--line);padding-top:8px}
dt{color:var(--muted)}
dd{margin:0;text-align:right;font:12px/1.6 "JetBrains Mono","DejaVu Sans Mono",monospace;font-variant-numeric:tabular-nums}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:12px;margin:12px 0}
figure{padding:12px 16px;overflow-x:auto;break-inside:avoid}
figure.wide{grid-column:1/-1}
figure svg{display:block;max-width:100%;height:auto}
.sheet{overflow:auto;margin:12px 0;max-height:80vh}
table{border-collapse:collapse;width:100%}
caption{text-align:left;font-weight:600;padding:12px 16px 8px}
th,td{padding:5px 12px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}
th{position:sticky;top:0;background:var(--surface);font-size:11px;font-weight:600;color:var(--muted);vertical-align:bottom;box-shadow:inset 0 -1px var(--line)}
th.sort{cursor:pointer}
th.sort:hover,th[aria-sort]{color:var(--accent)}
td{font-family:"JetBrains Mono","DejaVu Sans Mono",monospace;font-size:12px;font-variant-numeric:tabular-nums}
td.t{overflow-wrap:anywhere;min-width:16ch}
td.t:first-child{min-width:min(40ch,45vw)}
td.s,td.k{white-space:nowrap}
.n{text-align:right;white-space:nowrap}
.missing{color:var(--warn);font-family:Inter,system-ui,sans-serif;font-size:11px}
.prov th{width:170px;position:static;box-shadow:none;background:none;font-size:12px;font-weight:400}
.prov td{overflow-wrap:anywhere}
footer{padding:24px;color:var(--faint);font-size:11px}
@page{size:A4;margin:14mm}
@media print{body{background:none;font-size:10px}header{padding-top:0}header,main,footer{max-width:none;padding:0}.sheet{max-height:none;overflow:visible}th{position:static}h2{margin-top:20px;break-after:avoid}.card{break-inside:avoid}tr{break-inside:avoid}td,dd{font-size:9px}th,td{padding:3px 6px}.plots{grid-template-columns:1fr 1fr}.big div{font-size:16px}}
)";

// A click on a header sorts its table. Without scripts the table keeps its order.
const char* const kHtmlScript = R"(
document.querySelectorAll("table.sortable").forEach(function(table){
  table.querySelectorAll("th").forEach(function(head,column){
    head.className+=" sort";head.tabIndex=0;
    function sort(){
      var up=head.getAttribute("aria-sort")!=="ascending";
      table.querySelectorAll("th").forEach(function(h){h.removeAttribute("aria-sort")});
      head.setAttribute("aria-sort",up?"ascending":"descending");
      var body=table.tBodies[0];
      function key(row){var v=row.cells[column].getAttribute("data-v");return v===null?row.cells[column].textContent:v===""?null:Number(v)}
      Array.from(body.rows).map(function(row){return [key(row),row]}).sort(function(a,b){
        if(a[0]===null||b[0]===null)return (a[0]===null)-(b[0]===null);
        var order=typeof a[0]==="number"?a[0]-b[0]:a[0].localeCompare(b[0],"en",{numeric:true});
        return up?order:-order;
      }).forEach(function(pair){body.appendChild(pair[1])});
    }
    head.onclick=sort;
    head.onkeydown=function(e){if(e.key==="Enter")sort()};
  });
});
)";

} // namespace qs
