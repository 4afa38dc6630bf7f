import type { ComponentChildren } from 'preact';
import { waitText } from '#pages/parts/format';
import type { Refused } from '#pages/shell/api';
import type { Loading } from '#pages/shell/loaded';

/** Shows what was loaded; until then that it is loading, or why it could not be. */
export function WhenLoaded<Value>({
  loading: { loaded, reload },
  what,
  children,
}: {
  readonly loading: Loading<Value>;
  /** What is loaded, as in "Loading keys". */
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

/** Where something will be that is still loaded. */
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

/** Why something was refused, as an alert; nothing where it was not, or where a field says it. */
export function RefusalNotice({
  refusal,
  fields = [],
}: {
  readonly refusal: Refused | undefined;
  /** Fields of the form, which show what is wrong with them. */
  readonly fields?: readonly string[];
}) {
  if (refusal === undefined || fields.includes(refusal.field ?? '')) return null;
  return (
    <div class="notice is-danger" role="alert">
      <RefusalText refusal={refusal} />
    </div>
  );
}

/** What to show where there is nothing yet. */
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

/** What can be done about refusals whose own text does not say it, by their reason. */
const ADVICE: Readonly<Record<string, string>> = {
  instance_limit: 'Delete an instance that is not needed any more, or change to a larger plan.',
};

function RefusalText({ refusal }: { readonly refusal: Refused }) {
  const { message, reason = '', retryAfterSeconds: wait, requestId } = refusal;
  const more = [ADVICE[reason], wait === undefined ? undefined : `Try again in ${waitText(wait)}.`];
  return (
    <p>
      {[sentence(message), ...more].filter((each) => each !== undefined).join(' ')}
      {requestId === undefined ? null : (
        <span class="quiet">
          {' '}
          Request id: <code>{requestId}</code>
        </span>
      )}
    </p>
  );
}

/** Refusals are written small and without a full stop. */
export function sentence(text: string): string {
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
