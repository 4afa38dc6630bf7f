import { chromium } from 'playwright-core';
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--headless'] });
for (const w of [390, 560, 768, 900, 1024, 1280]) {
const c = await b.newContext({ viewport: { width: w, height: 900 }, storageState: '/tmp/state.json' }); const p = await c.newPage();
await p.goto('http://127.0.0.1:18002/fleet'); await p.waitForTimeout(2000);
console.log(w, await p.evaluate(`[document.querySelector('main').clientWidth, document.querySelector('.fleet-top').offsetHeight, document.querySelector('.fleet-tags').offsetHeight, document.querySelector('.fleet-list').offsetHeight]`));
}
await b.close();
