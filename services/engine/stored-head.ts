import type { HeadOf } from '#engine/listing';
import { CorruptState } from '#storage/byte-reader';
import type { InstanceStore } from '#storage/instance-store';

/**
 * Reads stored heads for pages of several instances: one that is damaged is reported, and counts as
 * not found, so that the others of its page are shown. The instance itself answers 500.
 */
export function storedHeadOf(
  instances: Pick<InstanceStore, 'readHead'>,
  onBug: (error: unknown) => void,
): HeadOf {
  return async (instanceId) => {
    try {
      return await instances.readHead(instanceId);
    } catch (error) {
      if (!(error instanceof CorruptState)) throw error;
      onBug(error);
      return undefined;
    }
  };
}
