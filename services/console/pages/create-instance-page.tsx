import { instanceApi } from '#pages/instance-api';
import { useLoaded } from '#pages/loaded';
import { ChoiceCard } from '#view/choice-card';
import { InstanceForm } from '#view/instance-form';
import { Link } from '#view/link';
import { ModeBars } from '#view/mode-bars';
import { sentence, WhenLoaded } from '#view/notice';
import { Page } from '#view/page';

/** Makes an instance, neutral or from a persona; leads to the personality test as a third way. */
export function CreateInstancePage() {
  const personas = useLoaded(instanceApi.personas);
  const known = personas.loaded.kind === 'ready' ? personas.loaded.value : [];
  return (
    <Page
      title="Create an instance"
      lead={
        <>
          It begins as you choose here, and moves with what it observes. You can also{' '}
          <Link to="/instances/test">take the personality test</Link> and begin with its result.
        </>
      }
    >
      <InstanceForm
        configOf={({ start }) => {
          const chosen = known.find(({ id }) => id === start);
          return chosen === undefined ? undefined : { mode_strengths: chosen.mode_profile };
        }}
      >
        <fieldset class="choices">
          <legend>Begins as</legend>
          <ChoiceCard
            {...{ name: 'start', value: 'neutral', title: 'Neutral', isFirst: true }}
            text="All modes at 0 %. Its character comes from what it observes alone."
          />
          <WhenLoaded loading={personas} what="personas">
            {(all) => (
              <>
                {all.map(({ id, name, archetype, description, mode_profile }) => (
                  <ChoiceCard
                    key={id}
                    {...{ name: 'start', value: id, title: name }}
                    text={`${sentence(archetype)} ${description}`}
                  >
                    <ModeBars strengths={mode_profile} />
                  </ChoiceCard>
                ))}
              </>
            )}
          </WhenLoaded>
        </fieldset>
      </InstanceForm>
    </Page>
  );
}
