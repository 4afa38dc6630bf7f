import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AccountBilling } from '#edge/serve/account';
import { Notifications } from '#edge/serve/notifications';
import { Fault } from '#errors/fault';
import type { AccountCall, LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn } from '#test/support/settled';

const BODY = Buffer.from('{"id": "évt"}');
const SENDER = '192.0.2.1';
const ANSWER: LimiterAnswer = {
  verdict: 'answered',
  allowance: undefined,
  body: { outcome: 'changed' },
};

/** The notification endpoint, with a limiter that answers as the test decides. */
function openNotifications() {
  const clock = new ManualClock();
  const asked: AccountCall[] = [];
  const barred: string[] = [];
  const limiter = {
    answering: async (): Promise<LimiterAnswer> => ANSWER,
    ask(call: LimiterCall) {
      assert.is(call.kind, 'account');
      asked.push(call as AccountCall);
      return limiter.answering();
    },
  };
  const notifications = new Notifications(new AccountBilling(limiter), clock, (network) =>
    barred.push(network),
  );
  const take = (signature: string | undefined = 't=1', address = SENDER) =>
    notifications.take(BODY, signature, address);
  return { clock, asked, barred, limiter, notifications, take };
}

const refusing = (fault: Fault) => async () => {
  throw fault;
};

const FORGED = new Fault('webhook_verification_failed', 'forged');

const sent = suite('a notification at an edge');

sent('is sent to the limiter with its bytes and signature, for no account', async () => {
  const { asked, take } = openNotifications();
  await take('t=1,v1=2');
  const [call] = asked;
  assert.equal([call?.name, call?.accountId], ['billing.notified', 'billing.notifications']);
  assert.equal(call?.body, { rawBody: BODY.toString('base64'), signature: 't=1,v1=2' });
});

sent('is refused without a signature, and is not sent to the limiter', async () => {
  const { asked, notifications } = openNotifications();
  const fault = await faultIn(notifications.take(BODY, undefined, SENDER));
  assert.is(fault.code, 'webhook_verification_failed');
  assert.equal(asked, []);
});

sent('is refused while 32 others are in flight, so that the provider retries', async () => {
  const { limiter, take } = openNotifications();
  const { promise, resolve } = Promise.withResolvers<LimiterAnswer>();
  limiter.answering = () => promise;
  const underWay = Array.from({ length: 32 }, () => take());
  assert.is((await faultIn(take())).reason, 'overloaded');
  resolve(ANSWER);
  await Promise.all(underWay);
  await take();
});

const barring = suite('a network that sends refused notifications');

barring('has only five notifications a second verified after 30 in a minute', async () => {
  const { clock, asked, barred, limiter, notifications, take } = openNotifications();
  limiter.answering = refusing(FORGED);
  for (let sentSoFar = 0; sentSoFar < 30; sentSoFar += 1) {
    assert.is(notifications.refusalUnasked({ ip: SENDER }), undefined);
    assert.is((await faultIn(take())).code, 'webhook_verification_failed');
  }
  assert.equal(barred, [SENDER]);
  for (let looked = 0; looked < 5; looked += 1) await faultIn(take());
  const refused = await faultIn(take());
  assert.equal(
    [refused.reason, refused.httpStatus, refused.retryAfterS],
    ['too_many_refused_notifications', 503, 1],
  );
  assert.is(notifications.refusalUnasked({ ip: SENDER })?.reason, refused.reason);
  assert.is(asked.length, 35);
  limiter.answering = async () => ANSWER;
  await take('t=1', '192.0.2.2');
  clock.advance(1_000);
  await take();
  clock.advance(60_000);
  assert.is(notifications.refusalUnasked({ ip: SENDER }), undefined);
});

barring('is not barred if the service itself fails', async () => {
  const { barred, limiter, take } = openNotifications();
  limiter.answering = refusing(new Fault('service_unavailable', 'later'));
  for (let sentSoFar = 0; sentSoFar < 40; sentSoFar += 1) await faultIn(take());
  assert.equal(barred, []);
});

for (const each of [sent, barring]) each.run();
