import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Skeleton } from '#view/parts/notice';

/**
 * Page whose script is loaded when the page first opens, so that the first page of a visit stays
 * small. If the script cannot be loaded, the page offers to load the document again: after an
 * upgrade, the document names other scripts.
 */
export function lazyPage<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  let loaded: FunctionComponent<Props> | undefined;
  return function LazyPage(props: Props) {
    const [state, setState] = useState<'loading' | 'failed' | 'ready'>('loading');
    useEffect(() => {
      if (loaded !== undefined) return;
      const done = (page: FunctionComponent<Props>): void => {
        loaded = page;
        setState('ready');
      };
      load().then(done, () => setState('failed'));
    }, []);
    if (loaded !== undefined) {
      const Page = loaded;
      return <Page {...props} />;
    }
    return state === 'failed' ? <NotLoaded /> : <Skeleton what="page" />;
  };
}

function NotLoaded() {
  return (
    <div class="notice is-danger" role="alert">
      <p>
        <strong>The page could not be loaded.</strong> Check your connection. After an upgrade of
        the service, load the page again.
      </p>
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </div>
  );
}
