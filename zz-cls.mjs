import { chromium } from 'playwright-core';
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--headless'] });
const c = await b.newContext({ viewport: { width: Number(process.argv[3] ?? 1280), height: 900 }, storageState: '/tmp/state.json' }); const p = await c.newPage();
await p.addInitScript(`window.cls=0; window.shifts=[]; new PerformanceObserver((l)=>{for(const e of l.getEntries()) if(!e.hadRecentInput){cls+=e.value; shifts.push([e.value.toFixed(4), ...e.sources.slice(0,3).map(s=>(s.node?.className||s.node?.nodeName)+' '+Math.round(s.previousRect.y)+'>'+Math.round(s.currentRect.y))])}}).observe({type:'layout-shift',buffered:true})`);
await p.goto('http://127.0.0.1:18002' + process.argv[2]); await p.waitForTimeout(3000);
console.log(await p.evaluate('[cls, JSON.stringify(shifts)]'));
await b.close();
