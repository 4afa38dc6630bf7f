import { writeFile } from 'node:fs/promises';
import { HttpCaller } from '#bench/load/http-caller';
import { readProcessAnswer } from '#bench/load/process-answer';
import type { Server } from '#bench/processes/servers';

/** The service's answer to a process call, stored in a file for the reference servers. */
export type CapturedAnswer = { readonly file: string; readonly bytes: number };

/** Makes a process call, checks the answer and stores the answer in `folder`. */
export async function captureAnswer(server: Server, folder: string): Promise<CapturedAnswer> {
  server.plan.beginTurn();
  using caller = new HttpCaller(server.address, server.plan.key);
  const observation = {
    mode_target: 'ORDER',
    signal_strength: 0.6,
    confidence: 0.9,
    context: { channel: 'chat', turn: 1 },
    timestamp: new Date(server.plan.nextS * 1_000).toISOString(),
  };
  const [instance] = server.plan.instances;
  const path = `/v1/instances/${instance?.id}/process`;
  const answer = await caller.send({ method: 'POST', path, body: JSON.stringify(observation) });
  server.plan.use(1);
  const text = JSON.stringify(readProcessAnswer(answer));
  const file = `${folder}/answer.json`;
  await writeFile(file, text);
  return { file, bytes: Buffer.byteLength(text) };
}
