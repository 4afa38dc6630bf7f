import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import * as assert from 'uvu/assert';
import type { AccountAdmin } from '#limiter/admin/accounts';
import type { AdminAudit } from '#limiter/admin/route';
import { serveAdmin } from '#limiter/admin/server';
import { custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import { NO_OVERVIEW } from '#test/support/no-overview';

type Heard = Parameters<AdminAudit>[0] & { readonly by: Parameters<AdminAudit>[1] };

/** The admin port of a limiter with one account. A test can replace parts of the administration. */
export async function adminUnderTest({
  host = '127.0.0.1',
  admin = {} as Partial<AccountAdmin>,
  cluster = NO_OVERVIEW,
} = {}) {
  const fixture = await limiterUnderTest(custom(60, 100));
  const { limiter, bugs } = fixture;
  const onBug = (bug: unknown) => bugs.push(bug);
  const changes: Heard[] = [];
  const heard: AdminAudit = (change, by) => void changes.push({ ...change, by });
  const always = { token: ADMIN_TOKEN, trail: limiter.audit, heard, cluster, onBug };
  const ports = { admin: { ...limiter.admin, ...admin }, clock: fixture.clock, ...always };
  const running = await serveAdmin({ host, port: 0 }, ports);
  const raw = (method: string, path: string, headers: Record<string, string>, body: string) =>
    exchange(
      running.address,
      method,
      path,
      { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
      body,
    );
  return {
    fixture,
    address: running.address,
    changes,
    raw,
    send: (method: string, path: string, body?: object) =>
      body === undefined
        ? raw(method, path, {}, '')
        : raw(method, path, { 'content-type': 'application/json' }, JSON.stringify(body)),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await limiter[Symbol.asyncDispose]();
      assert.equal(bugs, []);
    },
  };
}

// fetch() would correct the headers that these tests deliberately set wrong.
async function exchange(
  address: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
) {
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  // The agent would reuse the connection if the server kept it open.
  const agent = new Agent({ keepAlive: true });
  const answered = await new Promise<{
    status: number;
    headers: IncomingHttpHeaders;
    text: string;
  }>((resolve, reject) => {
    const options = { host, port, method, path, headers, agent } as const;
    const asking = request(options, async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    asking.on('error', reject);
    asking.end(body);
  });
  agent.destroy();
  const json = JSON.parse(answered.text);
  return { ...answered, json, data: json.data };
}
