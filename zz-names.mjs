import { chromium } from 'playwright-core';
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--headless'] });
const c = await b.newContext({ storageState: '/tmp/state.json' }); const p = await c.newPage();
await p.goto('http://127.0.0.1:18002/fleet'); await p.waitForTimeout(2500);
console.log((await p.locator('main').ariaSnapshot()).slice(0, 1500));
await b.close();
