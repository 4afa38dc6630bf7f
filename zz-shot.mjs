import { chromium } from 'playwright-core';
import { readFileSync, existsSync } from 'node:fs';
const [out, path, width='1280', scheme='light', ...acts] = process.argv.slice(2);
const base = 'http://127.0.0.1:18002';
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--headless'] });
const state = existsSync('/tmp/state.json') ? '/tmp/state.json' : undefined;
const c = await b.newContext({ viewport: { width: Number(width), height: 900 }, colorScheme: scheme, storageState: state });
const p = await c.newPage();
p.on('console', (m) => ['error','warning'].includes(m.type()) && console.log('!', m.text(), m.location().url));
p.on('pageerror', (e) => console.log('!!', e.message));
if (!state) {
  const link = readFileSync('/tmp/serve.log', 'utf8').match(/Console {2}(\S+)/)[1];
  await p.goto(link);
  await p.getByLabel('Email').fill('ada@example.com'); await p.getByLabel('Your name').fill('Ada'); await p.getByLabel('Password').fill('a long enough passphrase 7');
  await p.getByRole('button', { name: 'Set up' }).click();
  await p.locator('nav').waitFor();
  await c.storageState({ path: '/tmp/state.json' });
}
await p.goto(base + path);
await p.waitForTimeout(2500);
for (const a of acts) { await p.evaluate(a); await p.waitForTimeout(900); }
await p.screenshot({ path: out });
console.log(p.url(), await p.evaluate('document.documentElement.scrollHeight'));
await b.close();
