"""Moves across the devices of a mesh.

held       the elements that each device holds, by digits
modes      modes that two layouts share: counts, and pieces of elements that go together
exchange   one exchange: how much each device takes, and who sends what to whom
ways       two exchanges, by a layout whose copies hold a share each
sums       exchanges run backwards: the source's copies are parts of a sum
plan       the stages of the least time
local      one device's part: what it packs, sends, takes and unpacks
adding     rows of bytes, combined as numbers
bound      one device's parts, ready for arrays
simulated  all devices in one process
ranks      the ranks of torch.distributed
dtensor    DTensors
shard_map  functions for JAX
"""
