#include "planner/picture/page.h"

namespace vramplan {

const char* const kPageStyle = R"css(
:root{--ink:#1c2430;--soft:#586273;--line:#dde2ea;--surface:#fff;--ground:#f5f6f8;--limit:#b3261e;--accent:#2f5aa8;
--good:#1a6b4a;--good-ground:#dff3e8;--tight:#7a4d00;--tight-ground:#fdeecb;--bad:#9b1c1c;--bad-ground:#fbe0de;
--band:#2f5aa833;--module:#64748b;--shade:#1c243055;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ink:#e7ebf1;--soft:#9ca7b6;--line:#2c3440;--surface:#15191f;--ground:#0e1116;
--limit:#ff8a80;--accent:#8ab4ff;--good:#7fe0b0;--good-ground:#12382a;--tight:#ffd27a;--tight-ground:#3d2e0c;
--bad:#ffa8a1;--bad-ground:#451a19;--band:#8ab4ff33;--module:#8b98a9;--shade:#000c}}
*{box-sizing:border-box}
html{background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
-webkit-text-size-adjust:100%}
body{margin:0}
main{max-width:1120px;margin:0 auto;padding:28px 20px 56px}
header{margin-bottom:20px}
.eyebrow{margin:0 0 6px;color:var(--soft);font-size:13px;letter-spacing:.02em;display:flex;gap:10px;align-items:center}
.badge{font-size:12px;font-weight:600;padding:2px 9px;border-radius:99px;color:var(--ink);background:var(--line)}
.badge.good{color:var(--good);background:var(--good-ground)}
.badge.tight{color:var(--tight);background:var(--tight-ground)}
.badge.bad{color:var(--bad);background:var(--bad-ground)}
h1{font-size:clamp(19px,2.4vw,25px);line-height:1.3;font-weight:620;margin:0 0 16px;text-wrap:pretty;
overflow-wrap:anywhere}
h2{font-size:17px;font-weight:620;margin:0 0 4px}
.lead,.said{color:var(--soft);margin:0 0 14px;overflow-wrap:anywhere}
.said{margin:0 0 4px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(148px,1fr));gap:10px;margin:0 0 14px}
.tiles div{background:var(--surface);border:1px solid var(--line);border-radius:10px;padding:10px 14px;display:flex;
flex-direction:column-reverse}
.tiles dt{color:var(--soft);font-size:13px}
.tiles dd{margin:0;font-size:20px;font-weight:620;font-variant-numeric:tabular-nums}
nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin:0 0 18px;font-size:14px}
a{color:var(--accent)}
section{background:var(--surface);border:1px solid var(--line);border-radius:12px;padding:18px 20px;margin:0 0 16px}
figure{margin:10px 0 0}
figcaption{color:var(--soft);font-size:13px;margin-top:10px;overflow-wrap:anywhere}
.soft{color:var(--soft)}
.plot{position:relative;height:clamp(250px,40vw,400px);margin:34px 4px 0 58px;border-bottom:1px solid var(--soft)}
.plot:focus-visible,.scroll:focus-visible,summary:focus-visible,button:focus-visible{outline:2px solid var(--accent);
outline-offset:3px;border-radius:3px}
.plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.tick{position:absolute;left:0;right:0;border-top:1px solid var(--line)}
.tick span{position:absolute;right:calc(100% + 8px);top:-.75em;font-size:12px;color:var(--soft);white-space:nowrap;
font-variant-numeric:tabular-nums}
.reserved{fill:none;stroke:var(--ink);stroke-width:1.25;vector-effect:non-scaling-stroke}
.limit{position:absolute;left:0;right:0;border-top:2px dashed var(--limit);pointer-events:none}
.limit span{position:absolute;left:6px;bottom:1px;font-size:12.5px;font-weight:600;color:var(--limit);
background:var(--surface);padding:0 5px;border-radius:4px;white-space:nowrap}
.peak,.flag{position:absolute;pointer-events:none}
.peak{width:11px;height:11px;margin:0 0 -5.5px -5.5px;border-radius:50%;border:2px solid var(--ink);
background:var(--surface)}
.flag{top:-4px;border-left:1px solid var(--ink)}
.peak span,.flag span{position:absolute;font-size:12.5px;font-weight:600;white-space:nowrap;background:var(--surface);
padding:0 6px;border-radius:4px;box-shadow:0 0 0 1px var(--line)}
.peak span{left:14px;bottom:9px}
.flag span{left:-1px;bottom:100%}
.peak.left span{left:auto;right:14px}
.flag.left span{left:auto;right:-1px}
.cross{position:absolute;top:0;bottom:0;width:1px;background:var(--ink);pointer-events:none}
.spans{position:relative;height:21px;margin:0 4px 0 58px;font-size:12px;color:var(--soft)}
.span{position:absolute;top:0;bottom:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;text-align:center;
border-left:1px solid var(--line);padding:2px 2px 0}
.span.backward{background:var(--ground)}
.steps .span{color:var(--ink)}
.axis{margin:8px 4px 0 0;font-size:12px;color:var(--soft)}
.axis.up{margin-bottom:-10px}
.axis.across{margin-top:0;text-align:right}
.numbers{position:relative;height:22px;margin:4px 4px 0 58px;font-size:12px;color:var(--soft)}
.numbers span{position:absolute;transform:translateX(-50%)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 16px;margin:0;padding:0;font-size:13px;color:var(--soft)}
.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.reserved-key{border-top:2px solid var(--ink);border-radius:0!important;height:0!important;vertical-align:4px!important;
width:16px!important}
.band{fill:var(--band)}
.curve{fill:none;stroke:var(--accent);stroke-width:2.5;vector-effect:non-scaling-stroke}
.zone{position:absolute;top:0;bottom:0}
.zone span{position:absolute;top:4px;left:6px;right:0;font-size:12px;font-weight:600;overflow:hidden;
text-overflow:ellipsis;white-space:nowrap}
.zone.safe{background:color-mix(in srgb,var(--good-ground) 55%,transparent);color:var(--good)}
.zone.likely{background:var(--tight-ground);color:var(--tight)}
.zone.fails{background:repeating-linear-gradient(135deg,var(--bad-ground) 0 9px,transparent 9px 15px);color:var(--bad)}
.as-table{margin-top:10px;font-size:14px}
.as-table>summary{cursor:pointer;color:var(--accent);font-size:13px;width:max-content}
.scroll{overflow-x:auto;margin-top:8px;background:linear-gradient(to right,var(--surface) 40%,transparent) 0 0/40px 100%
no-repeat local,linear-gradient(to left,var(--surface) 40%,transparent) 100% 0/40px 100% no-repeat local,
linear-gradient(to right,var(--shade),transparent) 0 0/14px 100% no-repeat scroll,
linear-gradient(to left,var(--shade),transparent) 100% 0/14px 100% no-repeat scroll}
table{border-collapse:collapse;width:100%;font-size:14px}
th{color:var(--soft);font-weight:500;text-align:left;font-size:13px;vertical-align:bottom}
th,td{padding:5px 12px 5px 0;border-bottom:1px solid var(--line)}
tbody tr:last-child td{border-bottom:0}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.t{overflow-wrap:anywhere;min-width:7em}
.bar-cell{width:26%;min-width:70px;padding-right:0}
.bar{display:block;height:12px;border-radius:3px;min-width:1px}
.bar.usual{background-color:var(--accent)}
.bar.module{background-color:var(--module)}
.bar.good{background-color:var(--good)}.bar.tight{background-color:var(--tight)}.bar.bad{background-color:var(--bad)}
.bar.none{display:none}
.lane{display:block;flex:1;min-width:60px}
.segments .rows{display:grid;gap:4px}
.segment{display:flex;align-items:center;gap:12px;font-size:12.5px}
.segment .size{width:82px;white-space:nowrap;flex:none;text-align:right;color:var(--soft);font-variant-numeric:tabular-nums}
.segment svg{display:block;height:14px;min-width:2px;border-radius:3px;box-shadow:inset 0 0 0 1px var(--line)}
.hole{fill:var(--line)}
.tree{font-size:14px;margin-top:12px}
.tree summary,.tree .leaf{display:flex;gap:10px;align-items:center;padding:2px 0}
.tree summary{cursor:pointer;list-style-position:inside}
.tree summary::before{content:"\25B8";color:var(--soft);width:12px;flex:none;font-size:11px}
.tree details[open]>summary::before{content:"\25BE"}
.tree summary::-webkit-details-marker{display:none}
.tree .leaf{padding-left:22px;color:var(--soft)}
.tree details details,.tree details>.leaf{margin-left:18px}
.tree .name{flex:0 1 15em;overflow-wrap:anywhere}
.tree .n{width:84px;flex:none}
.tree .share{width:58px;color:var(--soft)}
.tree .lane i{display:block;height:10px;border-radius:3px;min-width:1px}
.tree .lane i.module{background-color:var(--module)}
.icicle{position:relative;height:clamp(300px,44vw,460px);overflow:hidden;margin-top:6px}
.icicle button{position:absolute;font:12px/1.25 system-ui,sans-serif;text-align:left;border:1px solid var(--surface);
border-radius:4px;padding:2px 6px;overflow:hidden;color:var(--ink);background:var(--line);cursor:pointer;
display:flex;align-items:flex-start;overflow-wrap:anywhere}
.icicle button.leaf{cursor:default;border-left:5px solid var(--part);
background:color-mix(in srgb,var(--part) 20%,var(--surface))}
.icicle button small{font-size:1em;margin-left:8px;opacity:.85;white-space:nowrap}
.icicle button b{font-weight:600;min-width:0;overflow:hidden;text-overflow:ellipsis}
.icicle button:focus-visible{z-index:1}
.path{display:flex;flex-wrap:wrap;gap:4px;font-size:13px;min-height:28px;align-items:center}
.path button{font:inherit;border:0;background:none;color:var(--accent);padding:2px 4px;cursor:pointer}
#tip{position:fixed;z-index:5;max-width:min(420px,calc(100vw - 16px));background:var(--surface);color:var(--ink);
border:1px solid var(--line);border-radius:10px;box-shadow:0 6px 24px #0003;padding:10px 12px;font-size:12.5px;
pointer-events:none}
#tip[hidden]{display:none}
#tip h3{margin:0 0 4px;font-size:13px}
#tip div{display:flex;gap:8px;align-items:baseline}
#tip i{width:9px;height:9px;border-radius:2px;flex:none}
#tip span{flex:1;overflow-wrap:anywhere}
#tip em{font-style:normal;font-variant-numeric:tabular-nums;white-space:nowrap}
#tip hr{border:0;border-top:1px solid var(--line);margin:6px 0}
.spec{margin:8px 0;display:flex;flex-wrap:wrap;gap:6px;align-items:center;font-size:13.5px}
.spec b{font-weight:600;margin-right:4px}
.chip{background:var(--ground);border:1px solid var(--line);border-radius:99px;padding:1px 10px;overflow-wrap:anywhere}
.notes{margin:6px 0 0;padding:0;list-style:none}
.notes li{margin:0 0 6px;overflow-wrap:anywhere}
.notes .warning b{color:var(--tight)}
code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
pre{overflow-x:auto;background:var(--ground);border:1px solid var(--line);border-radius:8px;padding:10px 12px;margin:8px 0}
@media(max-width:560px){main{padding:18px 12px 40px}section{padding:14px 12px;border-radius:10px}
.plot,.spans,.numbers{margin-left:48px;margin-right:2px}.tree .lane,.tree .share{display:none}
td.t{min-width:9em}.scroll{scrollbar-width:thin}table{width:max-content;min-width:100%}td.t{max-width:60vw}.tree .name{flex:1}.bar-cell{display:none}.narrow{color:transparent!important}.tree details details,.tree details>.leaf{margin-left:12px}
.peak span,.flag span{font-size:11.5px}.flag span{white-space:normal;width:168px}.plot{margin-top:72px}}
@media print{nav,.icicle,.path{display:none}section{break-inside:avoid}}
)css";

}  // namespace vramplan
