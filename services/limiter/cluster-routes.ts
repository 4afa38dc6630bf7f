import { Fault } from '#fault/fault';

/** A file that a browser gets before anyone has shown the token. */
export type PageFile = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
};

/** The cluster as operators see it: what it is now, and the page that shows it. */
export type ClusterOverview = {
  /** What is so now, made for JSON. Bounded in time, whatever is away. */
  readonly report: () => Promise<object>;
  /** A file of the page by its path; undefined: there is none. */
  readonly file: (path: string) => PageFile | undefined;
};

/** Where the report is, which needs the token; the page and its files are beside it and need none. */
const REPORT = '/cluster/report';

/** The file that a request is for; undefined: it is for something else. Throws for one that is not there. */
export function pageFileOf(
  { file }: ClusterOverview,
  { method, url }: { readonly method: string | undefined; readonly url: URL },
): PageFile | undefined {
  const { pathname } = url;
  if (method !== 'GET' || pathname === REPORT || !/^\/cluster(?:\/|$)/.test(pathname)) {
    return undefined;
  }
  const found = file(pathname);
  if (found === undefined) throw new Fault('not_found', `there is no ${method} ${pathname}`);
  return found;
}

/** Answers a request for the report; undefined: it is another one. */
export async function answerCluster(
  { report }: ClusterOverview,
  { method, url }: { readonly method: string; readonly url: URL },
): Promise<object | undefined> {
  return method === 'GET' && url.pathname === REPORT ? await report() : undefined;
}
