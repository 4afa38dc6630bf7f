import { createdAnswer, rebuiltAnswer } from '#engine/instance/answers';
import { PastStates, pastView } from '#engine/instance/past';
import { instanceFrom } from '#engine/instance/state';
import { MODELS } from '#identity/model';
import { CorruptState } from '#storage/ports/bytes';
import {
  type AnswerRow,
  type InstanceHead,
  type InstanceStore,
  unpackedState,
} from '#storage/ports/instances';
import type { Findings } from '#test/chaos/checks/findings';
import { checkOrder } from '#test/chaos/checks/order';
import { replayProblem } from '#test/chaos/checks/replayed-history';
import { checkRows } from '#test/chaos/checks/rows';
import type { StoredInstance } from '#test/chaos/checks/stored-instance';
import { bodyHashOf, type Call, hasHappened } from '#test/chaos/load/call-log';
import type { InstanceCalls } from '#test/chaos/load/instance-calls';

/** Compares a stored instance with the answers to its callers. */
export async function checkInstance(
  stored: StoredInstance,
  calls: InstanceCalls,
  byMark: ReadonlyMap<string, Call>,
  store: InstanceStore,
  findings: Findings,
): Promise<void> {
  const { id, head } = stored;
  if (head === undefined) {
    if (calls.writes.some(hasHappened)) findings.add(`${id}: acknowledged, but no head is stored`);
    return;
  }
  checkVersion(head, calls, findings);
  if (head.deletedAtMs !== undefined) {
    await checkGone(stored, calls, store, findings);
    checkOrder(stored, calls, byMark, findings);
    return;
  }
  for (const { id: call } of calls.happened('remove')) {
    findings.add(`${id}: call ${call} deleted it, but it is still stored`);
  }
  checkName(head, calls, findings);
  checkCreated(head, calls, findings);
  checkRows(stored, calls, findings);
  checkOrder(stored, calls, byMark, findings);
  await checkAnswers(head, calls, store, findings);
  const problem = replayProblem({
    stored,
    create: calls.create?.requested.kind === 'create' ? calls.create.requested : undefined,
    calls: byMark,
    resets: calls
      .happened('reset')
      .toSorted(
        (left, right) =>
          (calls.versionOf(left) ?? left.endMs) - (calls.versionOf(right) ?? right.endMs),
      ),
    unknownResets: calls.unknown('reset'),
  });
  if (problem !== undefined) findings.add(`${id}: ${problem}`);
}

/** Every version must come from one write that was acknowledged or has an unknown outcome. */
function checkVersion(head: InstanceHead, calls: InstanceCalls, findings: Findings): void {
  const { instance, writes } = calls;
  const happened = writes.filter(hasHappened).length;
  const unknown = writes.filter(({ outcome }) => outcome.kind === 'unknown').length;
  if (head.version < happened || head.version > happened + unknown) {
    findings.add(
      `${instance}: version ${head.version} is stored after ${happened} acknowledged writes ` +
        `and ${unknown} writes with unknown outcome`,
    );
  }
  for (const call of calls.calls) {
    const version = calls.versionOf(call) ?? 0;
    if (version <= head.version) continue;
    findings.add(
      `${instance}: call ${call.id} was answered with version ${version}, ` +
        `but version ${head.version} is stored`,
    );
  }
}

/** A deleted instance must have a tombstone and no other stored data. */
async function checkGone(
  { id, head, history, drift }: StoredInstance,
  calls: InstanceCalls,
  store: InstanceStore,
  findings: Findings,
): Promise<void> {
  if (calls.happened('remove').length + calls.unknown('remove').length === 0) {
    findings.add(`${id}: the instance is deleted, but no call deleted it`);
  }
  if (history.length > 0)
    findings.add(`${id}: ${history.length} history rows remain after the delete`);
  if (drift.length > 0) findings.add(`${id}: ${drift.length} drift events remain after the delete`);
  if (head !== undefined && head.model.length + head.name.length + head.description.length > 0) {
    findings.add(`${id}: the tombstone still contains a model, a name or a description`);
  }
  for (const call of calls.writes) {
    if (call.key === undefined) continue;
    const answer = await store.findAnswer(id, rowKeyOf(call, call.key), 0);
    if (answer !== undefined)
      findings.add(`${id}: the stored answer of call ${call.id} remains after the delete`);
  }
}

/**
 * The stored name must come from the newest acknowledged create or rename, or from a call with
 * unknown outcome.
 */
function checkName(head: InstanceHead, calls: InstanceCalls, findings: Findings): void {
  const { instance } = calls;
  const nameOf = ({ requested }: Call) => ('name' in requested ? requested.name : undefined);
  const author = calls.writes.find((call) => nameOf(call) === head.name);
  if (author === undefined || !(hasHappened(author) || author.outcome.kind === 'unknown')) {
    findings.add(`${instance}: no successful call set the name "${head.name}"`);
    return;
  }
  const version = calls.versionOf(author);
  const later = calls
    .happened('rename')
    .find((call) =>
      version === undefined ? call.startMs > author.endMs : (calls.versionOf(call) ?? 0) > version,
    );
  if (later === undefined) return;
  findings.add(
    `${instance}: the stored name "${head.name}" is older than the name that call ${later.id} set`,
  );
}

/** The answer to the create must match the stored instance. */
function checkCreated(head: InstanceHead, { instance, create }: InstanceCalls, findings: Findings) {
  if (create?.requested.kind !== 'create' || create.outcome.kind !== 'acknowledged') return;
  const first = { ...head, name: create.requested.name, updatedAtMs: head.createdAtMs };
  if (bodyHashOf(createdAnswer(instance, first).body) === create.outcome.bodyHash) return;
  findings.add(`${instance}: the answer to its create (call ${create.id}) differs`);
}

/** The stored answer of every applied call with a key must equal the answer to the caller. */
async function checkAnswers(
  head: InstanceHead,
  { instance, writes }: InstanceCalls,
  store: InstanceStore,
  findings: Findings,
): Promise<void> {
  for (const call of writes) {
    if (call.key === undefined) continue;
    const row = await store.findAnswer(instance, rowKeyOf(call, call.key), 0);
    const body = row === undefined ? undefined : await bodyOf(row, instance, head, store);
    const problem = answerProblem(call.outcome, body);
    if (problem !== undefined) findings.add(`${instance}: call ${call.id} with a key ${problem}`);
  }
}

/** Body of a stored answer. An answer with a position is rebuilt, as for a caller (decision 22). */
async function bodyOf(
  { body, position }: AnswerRow,
  instance: string,
  head: InstanceHead,
  store: InstanceStore,
): Promise<string> {
  if (position === undefined) return body;
  const view = pastView(instance, instanceFrom(head), MODELS);
  const ports = { store, models: MODELS, pause: () => undefined, onReplay: () => undefined };
  const past = new PastStates(view, ports);
  const rows = await past.at(position.generation, [position.cycle]).catch((error: unknown) => {
    // A finding of its own reports missing or damaged rows.
    if (error instanceof CorruptState) return [];
    throw error;
  });
  const [row] = rows;
  if (row === undefined) return '';
  const state = { modelVersion: row.modelVersion, model: unpackedState(row.state) };
  return rebuiltAnswer(instance, state, position.version, MODELS).body.toString();
}

function answerProblem(outcome: Call['outcome'], body: string | undefined): string | undefined {
  switch (outcome.kind) {
    case 'acknowledged':
      if (body === undefined) return 'has no stored answer';
      return bodyHashOf(body) === outcome.bodyHash
        ? undefined
        : 'has another stored answer than the caller received';
    case 'refused':
    case 'throttled':
      return body === undefined ? undefined : `was ${outcome.kind}, but has a stored answer`;
    case 'superseded':
    case 'unknown':
      return undefined;
  }
}

function rowKeyOf({ requested }: Call, key: string): string {
  return `${requested.kind === 'create' ? 'create' : 'call'}:${key}`;
}
