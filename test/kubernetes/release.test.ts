import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { OVERLAY_MANIFESTS, suite } from '#test/kubernetes/kustomize';
import { type Manifest, type Selector, selects } from '#test/kubernetes/manifest';

const LABEL = 'app.kubernetes.io/component';

/** Section of docs/kubernetes.md about deploying a release. */
const [, section = ''] =
  /\n## A new release\n([\s\S]*?)\n## /.exec(readFileSync('docs/kubernetes.md', 'utf8')) ?? [];

/** Selectors in the section, each with the rollout that the section then awaits. */
const steps = [
  ...section.matchAll(/^apply (?:'(.+?)'|(\S+))(?: && kubectl rollout status (\S+))?(?: &&)?$/gm),
];

/** Parses a kubectl selector. */
function selectorOf(text: string): Selector {
  const [, key = '', list = ''] = /^(\S+) notin \((.*)\)$/.exec(text) ?? [];
  if (key !== '') {
    return { matchExpressions: [{ key, operator: 'NotIn', values: list.split(', ') }] };
  }
  const [name = '', value = ''] = text.split('=');
  return { matchLabels: { [name]: value } };
}

const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;

for (const [overlay, manifests] of OVERLAY_MANIFESTS) {
  const release = suite(`the documented release to overlay ${overlay}`);
  const chosen = steps.map(([, quoted, plain = '']) => {
    const selector = selectorOf(quoted ?? plain);
    return manifests.filter(({ metadata }) => selects(selector, metadata.labels ?? {}));
  });

  release('applies every object in exactly one step', () => {
    const applied = chosen.flat().map(nameOf);
    assert.equal(applied.toSorted(), manifests.map(nameOf).toSorted());
  });

  release('starts with settings and tables, before any serving pod', () => {
    const [first = []] = chosen;
    assert.ok(first.some(({ kind }) => kind === 'ConfigMap'));
    assert.ok(first.map(nameOf).includes('Job migrate'));
    assert.not.ok(first.some(({ metadata }) => metadata.labels?.['identity-engine/serves']));
  });

  release(
    'continues with limiters, couriers, engines, edges and consoles, and waits for each rollout',
    () => {
      const nodes = ['StatefulSet limiter', 'Deployment courier', 'StatefulSet engine'];
      const wanted = [...nodes, 'Deployment edge', 'Deployment console'];
      const [, ...serving] = chosen;
      assert.equal(
        serving.map((each) =>
          each.filter(({ metadata }) => metadata.labels?.['identity-engine/serves']).map(nameOf),
        ),
        wanted.map((name) => [name]),
      );
      assert.equal(
        steps.slice(1).map(([, , , waited]) => waited),
        wanted.map((name) => name.toLowerCase().replace(' ', '/')),
      );
      for (const [index, each] of serving.entries()) {
        const [component] = new Set(each.map(({ metadata }) => metadata.labels?.[LABEL]));
        assert.is(component, wanted[index]?.split(' ')[1]);
      }
    },
  );

  release.run();
}
