import { startStandalone } from '#bench/service';
import { prepareService } from '#bench/servers';
import { temporaryFolder } from '#bench/temporary-folder';
import { runWrk } from '#bench/wrk';
import { findWrk } from '#bench/tool-path';
const wrk = await findWrk();
const folder = temporaryFolder();
const seconds = Number(process.argv[2] ?? 4);
const n = Number(process.argv[3] ?? 1000);
const file = `${folder}/x.db`;
const m = await startStandalone();
const q = await startStandalone([], undefined, { SERVICE_STORAGE: 'sqlite', SERVICE_SQLITE_FILE: file, SERVICE_SHARDS: process.env['SH'] ?? '64' });
const sm = await prepareService('s', m, folder, { instanceCount: n });
const sq = await prepareService('p', q, folder, { instanceCount: n });
for (let r = 0; r < 3; r++) for (const connections of [64, 256]) for (const [name, s] of [['memory', sm], ['sqlite', sq]] as const) {
  const x = await runWrk(wrk, s, { connections, seconds });
  console.log(name, connections, x.problem ?? '', x.requestsPerS.toFixed(0), 'p50', x.p50Ms, 'p99', x.p99Ms, JSON.stringify(x.cpu.map((c) => [c.process, c.microsPerRequest.toFixed(0)])));
}
const { execSync } = await import('node:child_process');
console.log(execSync(`ls -la ${folder}/*.db*`).toString());
await m[Symbol.asyncDispose](); await q[Symbol.asyncDispose]();
console.log(execSync(`ls -la ${folder}/*.db*`).toString());
