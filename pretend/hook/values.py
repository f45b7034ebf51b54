"""Shapes that come from values: what is read from a pretend card is zeros, so such a shape is the one for zeros.

Python's ways to them are watched: functions whose result is as long as the values say, masks in brackets, and tensors
that are taken for an integer. Where they are called from goes into the recording. What C++ asks by itself is not seen.
"""

# Of torch and of torch.Tensor alike; torch.where only with one argument.
_BY_VALUE = ("nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "bincount", "tolist")


def install(torch, tell, when_imported, on_host):
    """Calls tell(what) before each; gives back what undoes it. `on_host`: host.py knows better."""
    undone = []

    def on_card(value):
        return isinstance(value, torch.Tensor) and value.is_cuda

    def watch(owner, name, what, shaped):
        whole = owner.__dict__.get(name, None) or getattr(owner, name, None)
        if whole is None:
            return

        def watched(*arguments, **named):
            if shaped(arguments, named):
                tell(what)
            return whole(*arguments, **named)
        watched.__name__, watched.__doc__, watched.__wrapped__ = name, getattr(whole, "__doc__", None), whole
        setattr(owner, name, watched)
        undone.append((owner, name, whole))

    def first(arguments, named):
        return on_card(arguments[0] if arguments else named.get("input"))

    def masked(arguments, named):
        keys = arguments[1] if isinstance(arguments[1], tuple) else (arguments[1],)
        return any(on_card(key) and key.dtype in (torch.bool, torch.uint8) for key in keys)

    if not on_host:
        for name in _BY_VALUE:
            for owner in (torch, torch.Tensor):
                watch(owner, name, name + "()", first)
        watch(torch, "where", "where() of one tensor", lambda a, n: len(a) == 1 and not n and on_card(a[0]))
        watch(torch.Tensor, "__getitem__", "a mask as index", masked)
        watch(torch.Tensor, "__index__", "a tensor as integer", first)

    # Every question that the function asks of a tensor on the card is answered by yes.
    def affirmed(whole, asks=lambda *arguments: True):
        def answered(*arguments, **named):
            if not asks(*arguments):
                return whole(*arguments, **named)
            truth = torch.Tensor.__bool__
            torch.Tensor.__bool__ = lambda value: True if on_card(value) else truth(value)
            try:
                return whole(*arguments, **named)
            finally:
                torch.Tensor.__bool__ = truth
        answered.__wrapped__ = whole
        return answered

    # torch.distributions asks whether all parameters and samples are valid, and would hear no: by a function of its own
    # in torch 2.10, of the tensor before.
    distribution = torch.distributions.Distribution
    for name in ("__init__", "_validate_sample"):
        whole = getattr(distribution, name)
        setattr(distribution, name, affirmed(whole))
        undone.append((distribution, name, whole))
    all_true = getattr(torch, "_is_all_true", None)

    def is_all_true(values):
        result = all_true(values)
        return torch.tensor(True) if on_card(values) else result
    if all_true is not None:
        torch._is_all_true = is_all_true
        undone.append((torch, "_is_all_true", all_true))

    # transformers asks by the values of position_ids whether a batch is packed sequences, which have a mask of their own
    # (masking_utils.find_packed_sequence_indices, 4.53 to 5.0). Zeros would say so of every batch. Where a script gives
    # position_ids itself it packs.
    def one_sequence(module):
        if not hasattr(module, "find_packed_sequence_indices"):
            return
        find = module.find_packed_sequence_indices

        def find_packed_sequence_indices(position_ids, *arguments, **named):
            # Those that the model counts itself are a row of arange that got a batch axis: one sequence each.
            if on_card(position_ids) and position_ids._is_view():
                return None
            if on_card(position_ids):
                tell("position_ids without a mask, taken for packed sequences,")
            return find(position_ids, *arguments, **named)
        module.find_packed_sequence_indices = find_packed_sequence_indices

    # And whether a mask of the tokens, or of an image's pixels, masks any; zeros are padding.
    def padded(module):
        for name in ("_ignore_causal_mask_sdpa", "_ignore_bidirectional_mask_sdpa"):
            if hasattr(module, name):
                setattr(module, name, told_if_kept(getattr(module, name)))

    def told_if_kept(ignore):
        def ignore_told(padding_mask, *arguments, **named):
            ignored = ignore(padding_mask, *arguments, **named)
            if on_card(padding_mask) and not ignored:
                tell("attention_mask, taken for one with padding,")
            return ignored
        return ignore_told
    if not on_host:
        when_imported("transformers.masking_utils", lambda module: (one_sequence(module), padded(module)))

    # DETR's loss refuses boxes whose corners are not in order; what (corner >= corner).all() reads is zero, so it would
    # refuse all. A card's boxes are in order.
    # (generalized_box_iou of facebookresearch/detr's util/box_ops.py, which its descendants copied, and of transformers.)
    def in_order(module):
        whole = getattr(module, "generalized_box_iou", None)
        if whole is not None:
            module.generalized_box_iou = affirmed(whole, lambda *boxes: any(map(on_card, boxes)))
    for name in ("transformers.loss.loss_for_object_detection", "util.box_ops"):
        when_imported(name, in_order)

    def undo():
        for owner, name, whole in undone:
            setattr(owner, name, whole)
        undone.clear()
    return undo
