import type { BuiltPages } from '#console/built-pages';
import { safetyHeaders } from '#console/safety-headers';
import type { ClusterOverview, PageFile } from '#limiter/cluster-routes';

/** What a browser shows where the page is not built. */
const NOT_BUILT = 'The page of the cluster is not built: run `npm run build:console`.\n';

/** The admin port is reached without TLS. */
const HEADERS = safetyHeaders(false);

const ASSET = /^\/cluster\/assets\/([\w.-]+)$/;

/**
 * The files of the page of the cluster, as they were built: with the safety headers of the console, and
 * kept by no cache. Without them a line says how to build them.
 */
export function clusterPage(pages: BuiltPages | undefined): ClusterOverview['file'] {
  return (path): PageFile | undefined => {
    const asset = ASSET.exec(path)?.[1];
    if (asset === undefined && path !== '/cluster') return undefined;
    if (pages === undefined) {
      return {
        headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' },
        body: NOT_BUILT,
      };
    }
    const file = asset === undefined ? pages.document : pages.assets.get(asset);
    if (file === undefined) return undefined;
    return { headers: { ...HEADERS, 'content-type': file.type }, body: file.plain };
  };
}
