import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { AuditRow } from '#console/answers';
import { AUDIT_EXPORT, api, type Refused } from '#pages/shell/api';
import { isLost } from '#pages/shell/focus';
import { useAction, useRetry } from '#pages/shell/loaded';
import { AuditFilters } from '#view/audit/filters';
import { ActionTable } from '#view/audit/row';
import { Empty, RefusalNotice, Skeleton } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';
import { navigate, Page } from '#view/shell/router';

/** Number of actions per request. Fills about two screens. */
const PAGE_ACTIONS = '50';

/** Number of matches after which a search pauses. */
const MATCHES_MIN = 10;

/** Maximum requests of a search until the search pauses. Each request reads up to 8,000 lines. */
const REQUESTS_MAX = 10;

type Trail = {
  readonly rows: readonly AuditRow[];
  readonly cursor: string | null;
  /** Time of the oldest line that was read. */
  readonly reachedAt: string | null;
};

/**
 * Page of the account's audited actions, newest first. The query of the page address holds the
 * filters.
 */
export function AuditPage({ query }: { readonly query: string }) {
  return (
    <Page
      title="Audit trail"
      lead="Who did what in this account, with outcome and duration. The trail never changes."
      actions={
        <a class="button" href={AUDIT_EXPORT} download="audit.ndjson">
          Export as NDJSON
        </a>
      }
    >
      {/* If the query changes, new keys make Preact create both components again. */}
      <AuditFilters
        key={`filters ${query}`}
        query={query}
        onFilter={(next) => navigate(`/audit${next}`)}
      />
      <Actions key={`actions ${query}`} query={query} />
    </Page>
  );
}

/** Loaded actions for a query, and a button that loads older actions. */
function Actions({ query }: { readonly query: string }) {
  const [trail, setTrail] = useState<Trail | undefined>();
  const isOver = useRef(false);
  const more = useAction(async () => {
    let found: Trail = trail ?? { rows: [], cursor: null, reachedAt: null };
    const known = found.rows.length;
    // A request reads a bounded part of the trail, so a search may need several requests.
    for (let requests = 0; requests < REQUESTS_MAX; requests += 1) {
      const { data, pagination } = await api.audit(pageQueryOf(query, found.cursor));
      const { next_cursor: cursor, reached_at: reachedAt } = pagination;
      found = { rows: [...found.rows, ...data], cursor, reachedAt };
      if (isOver.current) return;
      setTrail(found);
      if (cursor === null || found.rows.length - known >= MATCHES_MIN) return;
    }
  });
  useEffect(() => {
    more.run();
    return () => {
      isOver.current = true;
    };
  }, []);
  const hasLoaded = trail !== undefined && more.refusal === undefined && !more.isBusy;
  useRetry(more.refusal, () => more.run(), hasLoaded);
  return (
    <>
      {trail === undefined && more.refusal === undefined ? <Skeleton what="actions" /> : null}
      {trail === undefined ? null : (
        <Shown trail={trail} isFiltered={query !== ''} isBusy={more.isBusy} />
      )}
      <RefusalNotice refusal={more.refusal} />
      <More trail={trail} isBusy={more.isBusy} refusal={more.refusal} onMore={() => more.run()} />
    </>
  );
}

function pageQueryOf(query: string, cursor: string | null): URLSearchParams {
  const params = new URLSearchParams(query);
  params.set('limit', PAGE_ACTIONS);
  if (cursor !== null) params.set('cursor', cursor);
  return params;
}

function Shown({
  trail: { rows, cursor, reachedAt },
  isFiltered,
  isBusy,
}: {
  readonly trail: Trail;
  readonly isFiltered: boolean;
  readonly isBusy: boolean;
}) {
  if (rows.length > 0) return <ActionTable rows={rows} />;
  if (cursor !== null) {
    return (
      <p class="quiet" role="status">
        {isBusy ? 'Searching older actions …' : 'No match yet.'}
        {reachedAt === null ? null : (
          <>
            {' '}
            Searched back to <TimeText at={reachedAt} />.
          </>
        )}
      </p>
    );
  }
  return isFiltered ? (
    <Empty title="No action matches the filters">
      <p>Remove a filter, or choose a longer period.</p>
    </Empty>
  ) : (
    <Empty title="The audit trail is empty" />
  );
}

function More({
  trail,
  isBusy,
  refusal,
  onMore,
}: {
  readonly trail: Trail | undefined;
  readonly isBusy: boolean;
  readonly refusal: Refused | undefined;
  readonly onMore: () => void;
}) {
  if (trail === undefined && refusal === undefined) return null;
  if (trail !== undefined && trail.cursor === null && refusal === undefined) {
    return trail.rows.length === 0 ? null : <Oldest />;
  }
  return (
    <p class="is-end">
      <button type="button" onClick={onMore} aria-disabled={isBusy}>
        {isBusy ? 'Loading …' : refusal === undefined ? 'Load older actions' : 'Try again'}
      </button>
    </p>
  );
}

/** End of the list. Takes the focus of the button that was here. */
function Oldest() {
  const end = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    if (isLost()) end.current?.focus();
  }, []);
  return (
    <p class="quiet is-end" tabIndex={-1} ref={end}>
      This is the oldest action.
    </p>
  );
}
