import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { buildConsole } from '#console/app/app';
import { readBuiltPages } from '#console/app/pages';
import type { ConsoleConfig } from '#console/app/ports';
import { loopbackOrigins } from '#console/app/visit';
import type { CourierClient } from '#grpc/courier-messages';
import { unchanging } from '#stdlib/files';
import { ACCOUNT_ID, openConsole, type TestConsole } from '#test/console/console-fixture';
import { builtOnce } from '#test/console/pages/fakes/built-once';
import {
  addFakeRoutes,
  emptyAccount,
  type FakeAccount,
} from '#test/console/pages/fakes/fake-routes';

/** Timeout for expected page content, in milliseconds. */
const SHOWN_MS_MAX = 15_000;

/** A page, its complaints, and the refused requests of the page. */
export type WatchedPage = AsyncDisposable & {
  readonly page: Page;
  /** Errors and warnings in the browser's console, script errors, and requests to other origins. */
  readonly complaints: readonly string[];
  /** Refused requests in order, such as `401 /api/me`. */
  readonly refused: readonly string[];
};

/** The real console with its pages, and fake routes that a test controls. */
export type TestPages = AsyncDisposable & {
  readonly origin: string;
  /** A console with the same stores. Sessions of its browsers are valid here. */
  readonly desk: TestConsole;
  readonly account: FakeAccount;
  /** Opens a page in a new browser profile, signed in with the cookies of `as`. */
  readonly open: (
    path: string,
    as?: { readonly cookies: ReadonlyMap<string, string> },
    options?: BrowserContextOptions,
  ) => Promise<WatchedPage>;
};

/** Options of a console with pages. */
type PagesOptions = {
  /** Whether the real routes answer, with a real engine behind them. Default: fake routes. */
  readonly isReal?: boolean;
  /** Sends webhooks of the real engine, also to internal addresses. */
  readonly courier?: CourierClient;
};

/** Serves the pages. `browser` starts the browser when a page is opened. */
export async function openPages(
  browser: () => Promise<Browser>,
  { isReal = false, courier }: PagesOptions = {},
): Promise<TestPages> {
  await using opening = new AsyncDisposableStack();
  const pages = await readBuiltPages('console', await builtOnce());
  const areWebhooksInternal = courier !== undefined;
  const desk = opening.use(await openConsole({ areWebhooksInternal }, {}, courier));
  const config: ConsoleConfig = {
    ...{ origin: undefined, trustedProxies: ['127.0.0.1'], localAccountId: ACCOUNT_ID },
    secrets: unchanging(['the secret of this test']),
    clusterSecrets: unchanging(['the secret of this test']),
    areWebhooksInternal,
  };
  const { app, reachedAt } = buildConsole(config, desk.ports, pages);
  const account = emptyAccount();
  if (!isReal) addFakeRoutes(app, account);
  opening.defer(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  reachedAt(loopbackOrigins('127.0.0.1', port));
  const origin = `http://127.0.0.1:${port}`;
  const opened = opening.move();
  return {
    ...{ origin, desk, account },
    open: async (path, as, options) => {
      const cookies = [...(as?.cookies ?? [])].map(([name, value]) => ({ name, value }));
      return await openPage(await browser(), { origin, path, cookies, options });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type Opening = {
  readonly origin: string;
  readonly path: string;
  readonly cookies: readonly { readonly name: string; readonly value: string }[];
  readonly options: BrowserContextOptions | undefined;
};

/** Opens a page of any console in a new browser profile. */
export async function openPage(
  browser: Browser,
  { origin, path, cookies, options }: Opening,
): Promise<WatchedPage> {
  const context = await browser.newContext({
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ...options,
  });
  await context.addCookies(cookies.map((each) => ({ ...each, url: origin })));
  const watched = watchPage(await context.newPage(), origin);
  await watched.page.goto(`${origin}${path}`);
  return { ...watched, [Symbol.asyncDispose]: () => context.close() };
}

/** Starts to record a page's complaints. `origin` is the console's origin. */
export function watchPage(page: Page, origin: string): Omit<WatchedPage, keyof AsyncDisposable> {
  page.setDefaultTimeout(SHOWN_MS_MAX);
  const complaints: string[] = [];
  const refused: string[] = [];
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    const { url } = message.location();
    const status = /^Failed to load resource: .* status of (4\d\d)/.exec(message.text())?.[1];
    if (status !== undefined && /^\/(api\/|cluster\/report)/.test(url.slice(origin.length))) {
      refused.push(`${status} ${url.slice(origin.length)}`);
    } else complaints.push(`${message.text()} ${url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^data:/.test(request.url()) && !request.url().startsWith(`${origin}/`)) {
      complaints.push(`asked ${request.url()}`);
    }
  });
  return { page, complaints, refused };
}
