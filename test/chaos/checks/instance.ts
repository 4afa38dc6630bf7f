import { createdAnswer } from '#engine/instance/answers';
import type { InstanceHead, InstanceStore } from '#storage/ports/instances';
import type { Findings } from '#test/chaos/checks/findings';
import { checkOrder } from '#test/chaos/checks/order';
import { replayProblem } from '#test/chaos/checks/replayed-history';
import { checkRows } from '#test/chaos/checks/rows';
import type { StoredInstance } from '#test/chaos/checks/stored-instance';
import { bodyHashOf, type Call, hasHappened } from '#test/chaos/load/call-log';
import type { InstanceCalls } from '#test/chaos/load/instance-calls';

/** Compares the stored state of one instance with the answers to its callers. */
export async function checkInstance(
  stored: StoredInstance,
  calls: InstanceCalls,
  byMark: ReadonlyMap<string, Call>,
  store: InstanceStore,
  findings: Findings,
): Promise<void> {
  const { id, head } = stored;
  if (head === undefined) {
    if (calls.writes.some(hasHappened)) findings.add(`${id}: nothing is stored of it`);
    return;
  }
  checkVersion(head, calls, findings);
  if (head.deletedAtMs !== undefined) {
    await checkGone(stored, calls, store, findings);
    checkOrder(stored, calls, byMark, findings);
    return;
  }
  for (const { id: call } of calls.happened('remove')) {
    findings.add(`${id}: call ${call} deleted it, and it is there`);
  }
  checkName(head, calls, findings);
  checkCreated(head, calls, findings);
  checkRows(stored, calls, findings);
  checkOrder(stored, calls, byMark, findings);
  await checkAnswers(calls, store, findings);
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

/** Each version must come from one call that took effect or may have. */
function checkVersion(head: InstanceHead, calls: InstanceCalls, findings: Findings): void {
  const { instance, writes } = calls;
  const happened = writes.filter(hasHappened).length;
  const unknown = writes.filter(({ outcome }) => outcome.kind === 'unknown').length;
  if (head.version < happened || head.version > happened + unknown) {
    findings.add(
      `${instance}: version ${head.version} after ${happened} acknowledged calls and ${unknown} unknown`,
    );
  }
  for (const call of calls.calls) {
    const version = calls.versionOf(call) ?? 0;
    if (version <= head.version) continue;
    findings.add(
      `${instance}: call ${call.id} was answered version ${version}, and ${head.version} is stored`,
    );
  }
}

/** A deleted instance must leave only its tombstone. */
async function checkGone(
  { id, head, history, drift }: StoredInstance,
  calls: InstanceCalls,
  store: InstanceStore,
  findings: Findings,
): Promise<void> {
  if (calls.happened('remove').length + calls.unknown('remove').length === 0) {
    findings.add(`${id}: it is deleted, and no call has done that`);
  }
  if (history.length > 0) findings.add(`${id}: ${history.length} rows are left after its delete`);
  if (drift.length > 0)
    findings.add(`${id}: ${drift.length} drift events are left after its delete`);
  if (head !== undefined && head.model.length + head.name.length + head.description.length > 0) {
    findings.add(`${id}: its marker holds more than a marker may`);
  }
  for (const call of calls.writes) {
    if (call.key === undefined) continue;
    const answer = await store.findAnswer(id, rowKeyOf(call, call.key), 0);
    if (answer !== undefined)
      findings.add(`${id}: the answer of call ${call.id} outlived its delete`);
  }
}

/** The name must be the newest acknowledged one, or one of unknown outcome. */
function checkName(head: InstanceHead, calls: InstanceCalls, findings: Findings): void {
  const { instance } = calls;
  const nameOf = ({ requested }: Call) => ('name' in requested ? requested.name : undefined);
  const author = calls.writes.find((call) => nameOf(call) === head.name);
  if (author === undefined || !(hasHappened(author) || author.outcome.kind === 'unknown')) {
    findings.add(`${instance}: its name "${head.name}" was refused, or no call gave it`);
    return;
  }
  const version = calls.versionOf(author);
  const later = calls
    .happened('rename')
    .find((call) =>
      version === undefined ? call.startMs > author.endMs : (calls.versionOf(call) ?? 0) > version,
    );
  if (later === undefined) return;
  findings.add(`${instance}: its name "${head.name}" is older than that of call ${later.id}`);
}

/** The answer to the create must match the stored instance. */
function checkCreated(head: InstanceHead, { instance, create }: InstanceCalls, findings: Findings) {
  if (create?.requested.kind !== 'create' || create.outcome.kind !== 'acknowledged') return;
  const first = { ...head, name: create.requested.name, updatedAtMs: head.createdAtMs };
  if (bodyHashOf(createdAnswer(instance, first).body) === create.outcome.bodyHash) return;
  findings.add(`${instance}: its create (call ${create.id}) was answered something else`);
}

/**
 * The stored answer of every applied call with a key must equal the answer that its caller
 * received.
 */
async function checkAnswers(
  { instance, writes }: InstanceCalls,
  store: InstanceStore,
  findings: Findings,
): Promise<void> {
  for (const call of writes) {
    if (call.key === undefined) continue;
    const answer = await store.findAnswer(instance, rowKeyOf(call, call.key), 0);
    const problem = answerProblem(call.outcome, answer?.body);
    if (problem !== undefined) findings.add(`${instance}: keyed call ${call.id} ${problem}`);
  }
}

function answerProblem(outcome: Call['outcome'], body: string | undefined): string | undefined {
  switch (outcome.kind) {
    case 'acknowledged':
      if (body === undefined) return 'has lost its answer';
      return bodyHashOf(body) === outcome.bodyHash
        ? undefined
        : 'has another answer than was given';
    case 'refused':
    case 'throttled':
      return body === undefined ? undefined : `was ${outcome.kind}, and has an answer`;
    case 'superseded':
    case 'unknown':
      return undefined;
  }
}

function rowKeyOf({ requested }: Call, key: string): string {
  return `${requested.kind === 'create' ? 'create' : 'call'}:${key}`;
}
