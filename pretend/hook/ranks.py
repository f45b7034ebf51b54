"""Several ranks that really run. NCCL does nothing on a pretend card: its barrier would let everybody pass, and objects that
ranks tell each other would arrive as zeros. Here both go by the store through which the ranks found each other.
"""

import os
import pickle
import time


def install(torch, folder, guarded):
    distributed = torch.distributed
    if not distributed.is_available():
        return
    meeting = _Meeting(distributed, folder)
    for name, by in (("barrier", meeting.barrier), ("broadcast_object_list", meeting.broadcast),
                     ("all_gather_object", meeting.all_gather), ("gather_object", meeting.gather),
                     ("scatter_object_list", meeting.scatter)):
        whole = getattr(distributed, name, None)
        if whole is not None:
            replaced = by(whole, guarded)
            replaced.__name__, replaced.__doc__, replaced.__wrapped__ = name, whole.__doc__, whole
            setattr(distributed, name, replaced)
            setattr(distributed.distributed_c10d, name, replaced)


class _Meeting:
    def __init__(self, distributed, folder):
        self.distributed, self.folder = distributed, folder
        self.times = {}  # group: how often it has met

    def by_store(self, group):
        """Gloo's groups really talk to each other."""
        ranks = self.distributed.get_world_size(group)
        return ranks > 1 and "nccl" in str(self.distributed.get_backend(group))

    def begin(self, group):
        """The store, and the beginning of the keys of this meeting, which is the same for all ranks of the group."""
        name = getattr(group or self.distributed.group.WORLD, "group_name", "")
        self.times[name] = self.times.get(name, 0) + 1
        return self.distributed.distributed_c10d._get_default_store(), "vramplan/%s/%d" % (name, self.times[name])

    def wait(self, here):
        """Until it is so, or one of the ranks has ended: it comes no more."""
        while not here():
            try:
                ended = any(name.endswith(".recording") for name in os.listdir(self.folder))
            except FileNotFoundError:
                ended = True
            if ended:
                return here()
            time.sleep(0.01)
        return True

    def heard(self, store, key, otherwise):
        return pickle.loads(store.get(key)) if self.wait(lambda: store.check([key])) else otherwise

    def global_rank(self, rank, group, group_rank):
        if group_rank is not None:
            return self.distributed.get_global_rank(group or self.distributed.group.WORLD, group_rank)
        return rank or 0

    def ranks_of(self, group):
        return self.distributed.get_process_group_ranks(group or self.distributed.group.WORLD)

    def barrier(self, whole, guarded):
        def meet(group):
            if self.by_store(group):
                store, key = self.begin(group)
                store.add(key, 1)
                self.wait(lambda: store.add(key, 0) >= self.distributed.get_world_size(group))

        def barrier(group=None, *arguments, **named):
            work = whole(group, *arguments, **named)
            guarded(meet)(group)
            return work
        return barrier

    def broadcast(self, whole, _):
        def broadcast_object_list(object_list, src=None, group=None, *arguments, **named):
            if not self.by_store(group):
                return whole(object_list, src, group, *arguments, **named)
            store, key = self.begin(group)
            if self.distributed.get_rank() == self.global_rank(src, group, named.get("group_src")):
                store.set(key, pickle.dumps(list(object_list)))
            else:
                object_list[:] = self.heard(store, key, object_list)
            return None
        return broadcast_object_list

    def all_gather(self, whole, _):
        def all_gather_object(object_list, obj, group=None):
            if not self.by_store(group):
                return whole(object_list, obj, group)
            store, key = self.begin(group)
            store.set("%s/%d" % (key, self.distributed.get_rank()), pickle.dumps(obj))
            object_list[:] = [self.heard(store, "%s/%d" % (key, rank), obj) for rank in self.ranks_of(group)]
            return None
        return all_gather_object

    def gather(self, whole, _):
        def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
            if not self.by_store(group):
                others = {} if group_dst is None else {"group_dst": group_dst}
                return whole(obj, object_gather_list, dst, group, **others)
            store, key = self.begin(group)
            store.set("%s/%d" % (key, self.distributed.get_rank()), pickle.dumps(obj))
            if self.distributed.get_rank() == self.global_rank(dst, group, group_dst):
                object_gather_list[:] = [self.heard(store, "%s/%d" % (key, rank), obj) for rank in self.ranks_of(group)]
            return None
        return gather_object

    def scatter(self, whole, _):
        def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None,
                                group_src=None):
            if not self.by_store(group):
                others = {} if group_src is None else {"group_src": group_src}
                return whole(scatter_object_output_list, scatter_object_input_list, src, group, **others)
            store, key = self.begin(group)
            if self.distributed.get_rank() == self.global_rank(src, group, group_src):
                store.set(key, pickle.dumps(list(scatter_object_input_list)))
            at = self.ranks_of(group).index(self.distributed.get_rank())
            parts = self.heard(store, key, None)
            if parts is not None:
                scatter_object_output_list[0] = parts[at]
            return None
        return scatter_object_list
