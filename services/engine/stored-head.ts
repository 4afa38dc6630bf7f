import { assertKnownModel } from '#engine/instance-model';
import type { HeadOf } from '#engine/listing';
import type { Models } from '#identity/model';
import { CorruptState } from '#storage/byte-reader';
import type { InstanceStore } from '#storage/instance-store';

/**
 * Reads stored heads for pages of several instances: one that is damaged, or of a model that this
 * program does not have, is reported and counts as not found, so that the others of its page are
 * shown. The instance itself answers 500.
 */
export function storedHeadOf(
  instances: Pick<InstanceStore, 'readHead'>,
  models: Models,
  onBug: (error: unknown) => void,
): HeadOf {
  return async (instanceId) => {
    try {
      const head = await instances.readHead(instanceId);
      if (head !== undefined) assertKnownModel(models, head, instanceId);
      return head;
    } catch (error) {
      if (!(error instanceof CorruptState)) throw error;
      onBug(error);
      return undefined;
    }
  };
}
