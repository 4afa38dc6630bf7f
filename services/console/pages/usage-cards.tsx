import type { ComponentChildren } from 'preact';
import type { Usage } from '#pages/answers';
import { counted, numberText, percentText } from '#pages/format';
import { Ring } from '#view/ring';
import { TimeText } from '#view/time-text';

/** The month and the minute of the account as rings. */
export function UsageCards({ usage }: { readonly usage: Usage }) {
  return (
    <div class="cards">
      <MonthCard usage={usage} />
      <MinuteCard usage={usage} />
    </div>
  );
}

function MonthCard({ usage }: { readonly usage: Usage }) {
  const { cycles_used: cycles, cycles_per_month: most, forecast } = usage;
  return (
    <Meter id="month">
      <Ring
        share={cycles / most}
        {...(forecast && { expected: forecast.cycles / most })}
        label={`${counted(cycles, 'cycle')} of ${numberText(most)} used this month`}
      />
      <div>
        <h2 id="month">This month</h2>
        <p class="figure">
          {numberText(cycles)} <span class="quiet">of {counted(most, 'cycle')}</span>
        </p>
        <p class="quiet">
          Begins again <TimeText at={usage.month_ends_at} />
        </p>
        <Forecast usage={usage} />
      </div>
    </Meter>
  );
}

/** Where the month is going; nothing while it is too early to say. */
function Forecast({ usage: { forecast, cycles_per_month: most } }: { readonly usage: Usage }) {
  if (forecast === undefined) return null;
  const { cycles, used_up_at: usedUpAt } = forecast;
  return (
    <p>
      {usedUpAt === undefined ? (
        <>
          At this rate about {counted(cycles, 'cycle')} by the end of the month (
          {percentText(cycles / most)})
        </>
      ) : (
        <strong class="warning-text">
          At this rate the month’s quota is used up on <TimeText at={usedUpAt} />
        </strong>
      )}
    </p>
  );
}

function MinuteCard({ usage }: { readonly usage: Usage }) {
  const { requests_in_window: requests, requests_per_minute: most } = usage;
  const { window_resets_at: resetsAt } = usage;
  return (
    <Meter id="minute">
      <Ring
        share={requests / most}
        label={`${counted(requests, 'request')} of ${numberText(most)} used this minute`}
      />
      <div>
        <h2 id="minute">This minute</h2>
        <p class="figure">
          {numberText(requests)} <span class="quiet">of {counted(most, 'request')}</span>
        </p>
        <p class="quiet">
          {resetsAt === undefined ? (
            'No minute is running: the next request begins one'
          ) : (
            <>
              Begins again <TimeText at={resetsAt} precision="second" />
            </>
          )}
        </p>
      </div>
    </Meter>
  );
}

function Meter({ id, children }: { readonly id: string; readonly children: ComponentChildren }) {
  return (
    <section class="card meter" aria-labelledby={id}>
      {children}
    </section>
  );
}
