import { numberText } from '#pages/format';
import { Link } from '#view/link';

/** Which rows of how many are shown, and links to those before and behind them. */
export function Pager({
  offset,
  limit,
  shown,
  total,
  what,
  addressOf,
}: {
  readonly offset: number;
  readonly limit: number;
  /** Rows on this page. */
  readonly shown: number;
  readonly total: number;
  /** What the rows are, as in "1 to 20 of 137 instances". */
  readonly what: string;
  readonly addressOf: (offset: number) => string;
}) {
  const last = offset + shown;
  return (
    <div class="pager">
      <p class="quiet" role="status">
        {numberText(offset + 1)} to {numberText(last)} of {numberText(total)} {what}
      </p>
      <Step text="Previous" to={offset > 0 ? addressOf(Math.max(0, offset - limit)) : undefined} />
      <Step text="Next" to={last < total ? addressOf(last) : undefined} />
    </div>
  );
}

function Step({ text, to }: { readonly text: string; readonly to: string | undefined }) {
  return to === undefined ? (
    <button type="button" disabled>
      {text}
    </button>
  ) : (
    <Link to={to} class="button">
      {text}
    </Link>
  );
}
