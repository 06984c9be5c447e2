// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

/// Release schedules, and the grants (timelocks) that follow them. Shared by every generation.
abstract contract Timelocks {
    struct ReleaseSchedule {
        uint256 releaseCount;
        uint256 delayUntilFirstReleaseInSeconds;
        uint256 initialReleasePortionInBips;
        uint256 periodBetweenReleasesInSeconds;
    }

    struct Timelock {
        address funder;
        uint256 scheduleId;
        uint256 commencementTimestamp;
        uint256 tokensTransferred;
        uint256 totalAmount;
        address[] cancelableBy;
    }

    event ScheduleCreated(address indexed from, uint256 indexed scheduleId);
    event ScheduleFunded(
        address indexed from,
        address indexed to,
        uint256 indexed scheduleId,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 timelockId,
        address[] cancelableBy
    );
    event TimelockCanceled(
        address indexed canceledBy,
        address indexed target,
        uint256 indexed timelockIndex,
        address reclaimTokenTo,
        uint256 canceledAmount,
        uint256 paidAmount
    );

    uint256 internal constant BIPS = 10_000;

    ReleaseSchedule[] public releaseSchedules;
    mapping(address => Timelock[]) internal timelocks;

    function createReleaseSchedule(
        uint256 releaseCount,
        uint256 delayUntilFirstReleaseInSeconds,
        uint256 initialReleasePortionInBips,
        uint256 periodBetweenReleasesInSeconds
    ) external returns (uint256 scheduleId) {
        require(releaseCount > 0, "no releases");
        require(initialReleasePortionInBips <= BIPS, "more than everything at first");
        scheduleId = releaseSchedules.length;
        releaseSchedules.push(
            ReleaseSchedule(
                releaseCount,
                delayUntilFirstReleaseInSeconds,
                initialReleasePortionInBips,
                releaseCount == 1 ? 0 : periodBetweenReleasesInSeconds
            )
        );
        emit ScheduleCreated(msg.sender, scheduleId);
    }

    function timelockOf(address who, uint256 index) external view returns (Timelock memory) {
        return timelocks[who][index];
    }

    /// What of a grant has been released by now, claimed or not.
    function released(Timelock storage grant) internal view returns (uint256) {
        ReleaseSchedule storage schedule = releaseSchedules[grant.scheduleId];
        uint256 first = grant.commencementTimestamp + schedule.delayUntilFirstReleaseInSeconds;
        if (block.timestamp < first) return 0;
        uint256 initial = (grant.totalAmount * schedule.initialReleasePortionInBips) / BIPS;
        uint256 steps = schedule.releaseCount - 1;
        if (steps == 0) return grant.totalAmount;
        uint256 passed = schedule.periodBetweenReleasesInSeconds == 0
            ? steps
            : (block.timestamp - first) / schedule.periodBetweenReleasesInSeconds;
        if (passed >= steps) return grant.totalAmount;
        return initial + ((grant.totalAmount - initial) * passed) / steps;
    }

    function claimable(address who, uint256 index) public view returns (uint256) {
        Timelock storage grant = timelocks[who][index];
        return released(grant) - grant.tokensTransferred;
    }

    /// Released and not claimed, over all grants.
    function unlockedBalanceOf(address who) public view returns (uint256 sum) {
        for (uint256 i = 0; i < timelocks[who].length; i++) sum += claimable(who, i);
    }

    /// Everything that grants still hold, released or not.
    function timelockBalanceOf(address who) public view returns (uint256 sum) {
        for (uint256 i = 0; i < timelocks[who].length; i++) {
            Timelock storage grant = timelocks[who][i];
            sum += grant.totalAmount - grant.tokensTransferred;
        }
    }

    function openTimelock(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        address[] memory cancelableBy
    ) internal returns (uint256 timelockId) {
        require(scheduleId < releaseSchedules.length, "unknown schedule");
        timelockId = timelocks[to].length;
        timelocks[to].push(
            Timelock(msg.sender, scheduleId, commencementTimestamp, 0, amount, cancelableBy)
        );
    }

    /// Takes up to `amount` out of what is unlocked, oldest grant first; returns how much it took.
    function takeUnlocked(address from, uint256 amount) internal returns (uint256 taken) {
        for (uint256 i = 0; i < timelocks[from].length && taken < amount; i++) {
            uint256 part = claimable(from, i);
            if (part > amount - taken) part = amount - taken;
            timelocks[from][i].tokensTransferred += part;
            taken += part;
        }
    }

    function takeClaim(address from, uint256 amount, uint256 timelockId) internal {
        require(claimable(from, timelockId) >= amount, "more than unlocked");
        timelocks[from][timelockId].tokensTransferred += amount;
    }

    /// Closes a grant: the locked part goes back, the unlocked part is paid out.
    function closeTimelock(
        address target,
        uint256 index,
        uint256 scheduleId,
        uint256 commencementTimestamp,
        uint256 amount
    ) internal returns (uint256 canceled, uint256 paid) {
        Timelock storage grant = timelocks[target][index];
        require(
            grant.scheduleId == scheduleId &&
                grant.commencementTimestamp == commencementTimestamp &&
                grant.totalAmount == amount,
            "not that grant"
        );
        require(mayCancel(grant), "not yours to cancel");
        paid = claimable(target, index);
        canceled = grant.totalAmount - grant.tokensTransferred - paid;
        require(canceled > 0, "nothing left to cancel");
        grant.tokensTransferred = grant.totalAmount;
    }

    function mayCancel(Timelock storage grant) private view returns (bool) {
        for (uint256 i = 0; i < grant.cancelableBy.length; i++) {
            if (grant.cancelableBy[i] == msg.sender) return true;
        }
        return false;
    }
}
