import { useEffect, useState } from 'preact/hooks';
import type { AuditLine } from '#pages/answers';
import { AUDIT_EXPORT, api, type Refused } from '#pages/api';
import { useAction } from '#pages/loaded';
import { navigate } from '#pages/router';
import { AuditFilters } from '#view/audit-filters';
import { AuditTable } from '#view/audit-table';
import { Empty, RefusalNotice, Skeleton } from '#view/notice';
import { Page } from '#view/page';

/** Lines of one request. Chosen: two screens. */
const PAGE_LINES = '50';

type Trail = { readonly lines: readonly AuditLine[]; readonly cursor: string | null };

/** What was done in the account and by whom, newest first; the filters are the address's query. */
export function AuditPage({ query }: { readonly query: string }) {
  return (
    <Page
      title="Audit trail"
      lead="Every change in this account: who, what, from where, and how it ended. Lines cannot be changed afterwards."
      actions={
        <a class="button" href={AUDIT_EXPORT} download="audit.ndjson">
          Export as NDJSON
        </a>
      }
    >
      {/* Another query is another trail: nothing of the one before stays. */}
      <AuditFilters
        key={`filters ${query}`}
        query={query}
        onFilter={(next) => navigate(`/audit${next}`)}
      />
      <Lines key={`lines ${query}`} query={query} />
    </Page>
  );
}

/** The lines of a query so far, and how the next ones behind them are loaded. */
function Lines({ query }: { readonly query: string }) {
  const [trail, setTrail] = useState<Trail | undefined>();
  const more = useAction(async () => {
    const { data, pagination } = await api.audit(queryOf(query, trail?.cursor));
    setTrail({ lines: [...(trail?.lines ?? []), ...data], cursor: pagination.next_cursor });
  });
  useEffect(() => more.run(), []);
  return (
    <>
      {trail === undefined && more.refusal === undefined ? <Skeleton what="lines" /> : null}
      {trail === undefined ? null : <Shown trail={trail} isFiltered={query !== ''} />}
      <RefusalNotice refusal={more.refusal} />
      <More trail={trail} isBusy={more.isBusy} refusal={more.refusal} onMore={() => more.run()} />
    </>
  );
}

function queryOf(query: string, cursor: string | null | undefined): URLSearchParams {
  const params = new URLSearchParams(query);
  params.set('limit', PAGE_LINES);
  if (cursor !== null && cursor !== undefined) params.set('cursor', cursor);
  return params;
}

function Shown({ trail, isFiltered }: { readonly trail: Trail; readonly isFiltered: boolean }) {
  if (trail.lines.length > 0) return <AuditTable lines={trail.lines} />;
  if (trail.cursor !== null) return <p class="quiet">Nothing so far. There are older lines.</p>;
  return isFiltered ? (
    <Empty title="No line is like that">
      <p>Take a filter away, or choose a longer time.</p>
    </Empty>
  ) : (
    <Empty title="Nothing was done yet" />
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
    return trail.lines.length === 0 ? null : <p class="quiet is-end">This is the oldest line.</p>;
  }
  return (
    <p class="is-end">
      <button type="button" onClick={onMore} disabled={isBusy}>
        {isBusy ? 'Loading …' : refusal === undefined ? 'Load older lines' : 'Try again'}
      </button>
    </p>
  );
}
