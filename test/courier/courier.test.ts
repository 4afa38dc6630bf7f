import { Webhook } from 'standardwebhooks';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Courier } from '#courier/courier';
import type { Delivery } from '#courier/endpoint-sender';
import { type Reloadable, unchanging } from '#stdlib/files';
import { SecretSeal } from '#stdlib/secret-seal';
import { formatSecret, SECRET_SEAL_LABEL } from '#webhooks/signature';

const ID = 'whk_0123456789abcdef';
const DELIVERED = { kind: 'answered', status: 204, retryAfter: undefined } as const;

/** Courier that records its deliveries, with the seal of its cluster. */
function newScene(secrets: Reloadable<readonly string[]> = unchanging(['a cluster secret'])) {
  const sent: Delivery[] = [];
  const seal = new SecretSeal(secrets, SECRET_SEAL_LABEL);
  const courier = new Courier({
    seal,
    sender: {
      send: async (delivery) => {
        sent.push(delivery);
        return DELIVERED;
      },
    },
    clock: { wallMs: () => Date.now() },
    release: '1.1.0',
  });
  const secret = (fill: number) => formatSecret(Buffer.alloc(32, fill));
  const ask = (sealedSecrets: readonly string[], endpointId = ID) =>
    courier.ask({
      ...{ endpointId, url: 'https://hooks.example/', id: `${ID}-7`, sealedSecrets },
      body: '{"type":"events","data":[{"name":"Zoë"}]}',
    });
  return { sent, seal, secret, ask };
}

const courier = suite('a courier');

courier('signs for the reference library of Standard Webhooks, with each secret', async () => {
  const { sent, seal, secret, ask } = newScene();
  const sealed = [secret(1), secret(2)].map((text) => seal.seal(ID, text));
  assert.equal(await ask(sealed), DELIVERED);
  const { headers = {}, body = '' } = sent[0] ?? {};
  for (const fill of [1, 2]) {
    const verified = new Webhook(secret(fill)).verify(body, headers);
    assert.equal(verified, JSON.parse(body));
  }
  assert.throws(() => new Webhook(secret(3)).verify(body, headers), /No matching signature/);
  assert.throws(() => new Webhook(secret(1)).verify(`${body} `, headers));
  assert.is(headers['webhook-id'], `${ID}-7`);
  assert.is(headers['content-length'], `${Buffer.byteLength(body)}`);
});

courier('sends nothing if it can open no secret', async () => {
  const { sent, seal, secret, ask } = newScene();
  const other = new SecretSeal(unchanging(['another secret']), SECRET_SEAL_LABEL);
  const unreadable = { kind: 'failed', failure: 'secret_unreadable' };
  assert.equal(await ask([other.seal(ID, secret(1))]), unreadable);
  assert.equal(await ask([seal.seal('whk_ffffffffffffffff', secret(1))]), unreadable);
  assert.is(sent.length, 0);
});

courier('seals secrets again if a former secret of the cluster sealed them', async () => {
  const { seal, secret, ask } = newScene(unchanging(['the new secret', 'the former secret']));
  const former = new SecretSeal(unchanging(['the former secret']), SECRET_SEAL_LABEL);
  const kept = seal.seal(ID, secret(1));
  assert.equal(await ask([kept]), DELIVERED, 'nothing to do');
  const { resealed = [] } = await ask([kept, former.seal(ID, secret(2))]);
  const opened = resealed.map((each) => seal.open(ID, each));
  assert.equal(
    opened,
    [1, 2].map((fill) => ({ text: secret(fill), isCurrent: true })),
  );
});

courier.run();
