import { levelText } from '#pages/format';
import { MODES, type Strengths } from '#pages/instance-answers';

/** The seven strengths as small bars, each with its name and its value. */
export function ModeBars({ strengths }: { readonly strengths: Strengths }) {
  return (
    <ul class="mode-bars">
      {MODES.map(([key, name]) => (
        <li key={key}>
          <span>{name}</span>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="bar-track" width="100" height="6" />
            <rect class="bar-fill" width={100 * strengths[key]} height="6" />
          </svg>
          <span class="is-value">{levelText(strengths[key])}</span>
        </li>
      ))}
    </ul>
  );
}
