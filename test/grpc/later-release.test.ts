import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import type { Fault } from '#errors/fault';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineCommand } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { EngineReplyFrame, EngineRequest } from '#grpc/gen/identity_engine/v1/engine';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import { isOwnerInDoubt, retryReasonOf } from '#routing/retry-policy';
import * as peers from '#test/grpc/wire-peers';

/** Number of a field that no frame of this release has. */
const LATER_FRAME_FIELD = 15;
/** Number of a command that this release does not have. */
const LATER_COMMAND_FIELD = 900;

const WIRE_TYPE_OF_BYTES = 2;
const tagOf = (field: number): number => (field << 3) | WIRE_TYPE_OF_BYTES;

/** A frame with these requests, followed by a field of a later release. */
function laterFrame(...requests: readonly Uint8Array[]): Buffer {
  const writer = new BinaryWriter();
  for (const bytes of requests) writer.uint32(tagOf(1)).bytes(bytes);
  writer.uint32(tagOf(LATER_FRAME_FIELD)).bytes(Buffer.from('of a later release'));
  return Buffer.from(writer.finish());
}

/** A request with a command that this release does not have. */
function laterRequest(id: number): Uint8Array {
  const { command: _, ...rest } = peers.wireRequest({ id });
  const writer = EngineRequest.encode({ ...rest, command: undefined }, new BinaryWriter());
  return writer.uint32(tagOf(LATER_COMMAND_FIELD)).bytes(Buffer.from('later')).finish();
}

const later = suite('a node that gets a call from a later release');

/** Sends a frame to a node. Returns the answers of the node and the bugs that the node reported. */
async function answersTo(frame: Buffer) {
  const bugs: unknown[] = [];
  const engine = { ask: () => peers.engineAnswer('ok') };
  const services = [frameService(engineProtocol, engine, { reportBug: (bug) => bugs.push(bug) })];
  await using server = await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
  using edge = peers.rawEdge(server.address);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  edge.stream.once('data', resolve);
  edge.status.then((status) => reject(new Error(`the stream ended with status ${status}`)));
  edge.stream.write(frame);
  const { messages } = EngineReplyFrame.decode(await promise);
  return { messages, bugs };
}

later('skips unknown fields of a frame, and answers the calls in it', async () => {
  const known = EngineRequest.encode(peers.wireRequest({ id: 1 })).finish();
  const { messages, bugs } = await answersTo(laterFrame(known, known.with(1, 2)));
  assert.equal(
    messages.map(({ id, outcome }) => [id, outcome?.$case]),
    [
      [1, 'answer'],
      [2, 'answer'],
    ],
  );
  assert.equal(bugs, []);
});

later(
  'refuses an unknown command as not executed, and answers the other calls of the frame',
  async () => {
    const known = EngineRequest.encode(peers.wireRequest({ id: 2 })).finish();
    const { messages, bugs } = await answersTo(laterFrame(laterRequest(1), known));
    const [refused, answered] = messages;
    assert.is(refused?.outcome?.$case, 'fault');
    if (refused?.outcome?.$case !== 'fault') return;
    const { code, reason, retryAfterS, outcomeUnknown } = refused.outcome.value;
    assert.equal(
      [code, reason, retryAfterS, outcomeUnknown],
      ['service_unavailable', 'upgrade_in_progress', 5, false],
    );
    assert.is(answered?.outcome?.$case, 'answer');
    assert.equal(bugs, [], 'the refusal is not a bug of this release');
  },
);

later('refuses an unknown call to limiters in the same way', () => {
  const named = { accountId: 'acct_1', callId: 1, callTag: 0, ...peers.NO_TRACE };
  const asked = { id: 1, timeoutMs: 100, ...named, call: undefined };
  const read = () => limiterProtocol.callOf(asked, 0);
  assert.throws(read, ({ reason, isOutcomeUnknown }: Fault) => {
    return reason === 'upgrade_in_progress' && !isOutcomeUnknown;
  });
});

later('is not called again immediately, unlike after a transient failure', async () => {
  let asked = 0;
  await using node = await peers.rawEngine((stream) => {
    stream.on('data', () => {
      asked += 1;
      const value = {
        code: 'service_unavailable',
        reason: 'upgrade_in_progress',
        message: '',
        outcomeUnknown: false,
      };
      const messages = [{ id: 1, outcome: { $case: 'fault', value } as const }];
      stream.write(Buffer.from(EngineReplyFrame.encode({ messages }).finish()));
    });
  });
  await using edge = new FrameClient(engineProtocol, { address: node.address });
  await edge.ready();
  const fault = await peers.faultOf(edge.ask(peers.engineCall()));
  assert.is(peers.verdictOf(fault), 'service_unavailable upgrade_in_progress known');
  assert.is(asked, 1);
  assert.is(retryReasonOf({ isRepeatable: true }, fault), undefined);
  assert.is(isOwnerInDoubt(fault), false);
});

const earlier = suite('a node of release 1.0 that gets a new call');

earlier(
  'finds an unknown command in a search, and does not read it as a list without a search',
  () => {
    const list = { kind: 'list', limit: 20, offset: 0, sort: 'name', order: 'asc' } as const;
    const commandOf = (search?: string) =>
      engineProtocol.requestOf(1, 100, peers.engineCall({ command: { ...list, search } })).command;
    assert.is(commandOf()?.$case, 'list');
    assert.is(commandOf('Ada')?.$case, 'search');
  },
);

earlier('finds an unknown command in a change with tags, and does not ignore the tags', () => {
  const rename = { kind: 'rename', name: 'Bo', description: undefined } as const;
  const commandOf = (command: EngineCommand) =>
    engineProtocol.requestOf(1, 100, peers.engineCall({ command })).command;
  assert.is(commandOf(rename)?.$case, 'rename');
  assert.is(commandOf({ ...rename, tagsJson: '{"team":"a"}' })?.$case, 'tagged');
});

earlier('finds no key with the digest in an admission for a member', () => {
  const named = { accountId: 'acct_1', callId: 1, callTag: 0, cycles: 0, scope: 'read' } as const;
  const session = `ses_${'a'.repeat(16)}`;
  const call = { kind: 'admit', ...named, keyDigest: session, isOfMember: true } as const;
  const { call: sent } = limiterProtocol.requestOf(1, 100, call);
  assert.is(sent?.$case === 'admit' && sent.value.keyDigest, session);
  assert.is.not(session.length, digestOf('a key').length);
});

later.run();
earlier.run();
