import type { UsageMonth } from '#console/answers';
import { counted, numberText } from '#pages/parts/format';

/** Height of the picture, in units of the picture. A day is one unit wide. */
const HEIGHT = 100;

/** Share of a day's width that the bar fills. */
const BAR_WIDTH = 0.72;

/** Interval of day labels, in days. Five labels fit 390 pixels. */
const LABEL_DAYS = 7;

/** Bar chart of cycles by day. The table below has the same data. */
export function DayChart({ month: { month, cycles, days } }: { readonly month: UsageMonth }) {
  const count = daysOf(month);
  const top = niceTop(Math.max(0, ...days.map((day) => day.cycles)));
  const label = `${counted(cycles, 'cycle')} by day of the month, at most ${numberText(top)} a day`;
  return (
    <div class="chart">
      <div class="chart-scale" aria-hidden="true">
        <span>{numberText(top)}</span>
        <span>{numberText(top / 2)}</span>
        <span>0</span>
      </div>
      <svg
        class="chart-bars"
        viewBox={`0 0 ${count} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line key={y} class="chart-line" x1="0" x2={count} y1={y} y2={y} />
        ))}
        {days.map((day, index) => {
          const height = (day.cycles / top) * HEIGHT;
          return (
            <rect
              key={day.date}
              class="chart-bar"
              x={index + (1 - BAR_WIDTH) / 2}
              y={HEIGHT - height}
              width={BAR_WIDTH}
              height={height}
            >
              <title>{`${day.date}: ${counted(day.cycles, 'cycle')}`}</title>
            </rect>
          );
        })}
      </svg>
      <div class="chart-days" aria-hidden="true">
        {Array.from({ length: count }, (_, index) => (
          <span key={index}>{index % LABEL_DAYS === 0 ? index + 1 : ''}</span>
        ))}
      </div>
    </div>
  );
}

/** Number of days in a month such as `2026-01`. */
function daysOf(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).getUTCDate();
}

/**
 * Smallest of 2, 4, 6, 8, 10, 20, 40 … that is at least `most`. Half of the result is a whole
 * number.
 */
function niceTop(most: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return [2, 4, 6, 8, 10].map((step) => step * unit).find((top) => top >= most) ?? 2;
}
