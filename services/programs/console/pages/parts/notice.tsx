import type { ComponentChildren } from 'preact';
import { adviceFor } from '#pages/parts/advice';
import type { Refused } from '#pages/shell/api';
import type { Loading } from '#pages/shell/loaded';

/** Renders loaded data, a skeleton while loading, or the error with a retry button. */
export function WhenLoaded<Value>({
  loading: { loaded, reload },
  what,
  children,
}: {
  readonly loading: Loading<Value>;
  /** Kind of data, as in "Loading keys". */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}) {
  switch (loaded.kind) {
    case 'loading':
      return <Skeleton what={what} />;
    case 'failed':
      return (
        <div class="notice is-danger" role="alert">
          <p>
            <strong>The {what} could not be loaded.</strong>
          </p>
          <RefusalText refusal={loaded.refusal} />
          <button type="button" onClick={() => void reload()}>
            Try again
          </button>
        </div>
      );
    case 'ready':
      return <>{children(loaded.value)}</>;
  }
}

/** Placeholder for content that is loading. */
export function Skeleton({ what }: { readonly what: string }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading {what} …</span>
      <div class="bone" />
      <div class="bone" />
      <div class="bone" />
    </div>
  );
}

/**
 * Alert with the reason of a refusal. Renders nothing without a refusal, or if a field shows the
 * error.
 */
export function RefusalNotice({
  refusal,
  fields = [],
}: {
  readonly refusal: Refused | undefined;
  /** Fields of the form that show their own errors. */
  readonly fields?: readonly string[];
}) {
  if (refusal === undefined || fields.includes(refusal.field ?? '')) return null;
  return (
    <div class="notice is-danger" role="alert">
      <RefusalText refusal={refusal} />
    </div>
  );
}

/** Message for an empty list. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

function RefusalText({ refusal }: { readonly refusal: Refused }) {
  const { message, requestId } = refusal;
  return (
    <p>
      {[sentence(message), ...adviceFor(refusal)].join(' ')}
      {requestId === undefined ? null : (
        <span class="quiet">
          {' '}
          Request id: <code>{requestId}</code>
        </span>
      )}
    </p>
  );
}

/** Capitalizes a refusal message and adds a full stop. */
export function sentence(text: string): string {
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
