import * as assert from 'uvu/assert';
import { COMMANDS } from '#ctl/ctl';
import { OVERLAY_MANIFESTS, suite } from '#test/kubernetes/kustomize';
import { jobOf, ofKind, type PodTemplate } from '#test/kubernetes/manifest';

/** Tested fields of a CronJob. */
type CronJob = { readonly schedule: string; readonly concurrencyPolicy: string };

/** Tested fields of a CronJob's job. */
type Job = { readonly activeDeadlineSeconds: number; readonly template: PodTemplate };

const DAY_S = 86_400;

for (const [overlay, manifests] of OVERLAY_MANIFESTS) {
  const daily = suite(`the retention job of overlay ${overlay}`);
  const [found, ...others] = ofKind(manifests, 'CronJob');
  const job = () => {
    assert.ok(found);
    return jobOf(found).spec as unknown as Job;
  };

  daily('runs an existing command daily, without concurrent runs', () => {
    assert.is(others.length, 0);
    const { activeDeadlineSeconds, template } = job();
    assert.ok(found);
    const { schedule, concurrencyPolicy } = found.spec as unknown as CronJob;
    assert.match(schedule, /^\d{1,2} \d{1,2} \* \* \*$/);
    assert.is(concurrencyPolicy, 'Forbid');
    assert.ok(activeDeadlineSeconds < DAY_S);
    const [container] = template.spec.containers;
    const [ctl, ...words] = container?.args ?? [];
    assert.is(ctl, 'ctl');
    const command = COMMANDS.find((known) => known.words.join(' ') === words.join(' '));
    assert.equal(command?.args, []);
  });

  daily("uses ctl's files, variables, restrictions and size", () => {
    const { metadata, spec } = job().template;
    const [ctl] = ofKind(manifests, 'Deployment').filter(({ metadata }) => metadata.name === 'ctl');
    assert.ok(ctl);
    assert.equal(metadata.labels, ctl.spec.template.metadata.labels);
    const { containers, ...pod } = spec;
    const { containers: ctlContainers, ...podOfCtl } = ctl.spec.template.spec;
    assert.equal(pod, { ...podOfCtl, restartPolicy: 'Never' });
    const [{ args: _, ...container } = { args: [] }] = containers;
    const [{ command: __, ...containerOfCtl } = { command: [] }] = ctlContainers;
    assert.equal([container, containers.length], [containerOfCtl, ctlContainers.length]);
  });

  daily.run();
}
