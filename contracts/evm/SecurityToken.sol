// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

import {Register} from "./Register.sol";
import {Timelocks} from "./Timelocks.sol";

/// ERC-20 with vesting inside, from generation 2 on. What moves is the same in all of them; how the
/// movement is logged is each generation's own, in the functions named log….
abstract contract SecurityToken is Register, Timelocks {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    mapping(address => mapping(address => uint256)) public allowance;
    /// Tokens that no grant holds.
    mapping(address => uint256) internal simple;

    constructor(string memory name_, string memory symbol_, uint8 decimals_, uint256 supply) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
        totalSupply = supply;
        simple[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
        welcome(msg.sender);
    }

    function balanceOf(address who) external view returns (uint256) {
        return simple[who] + timelockBalanceOf(who);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        send(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        if (logsApprovalOfTransferFrom()) emit Approval(from, msg.sender, allowance[from][msg.sender]);
        send(from, to, amount);
        return true;
    }

    function mint(address to, uint256 amount) external only(RESERVE_ADMIN) {
        totalSupply += amount;
        simple[to] += amount;
        logMint(to, amount);
    }

    function burn(address from, uint256 amount) external only(RESERVE_ADMIN) {
        require(simple[from] >= amount, "grants cannot be burned");
        totalSupply -= amount;
        simple[from] -= amount;
        logBurn(from, amount);
    }

    function fundReleaseSchedule(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        address[] calldata cancelableBy
    ) external returns (bool) {
        fund(to, amount, commencementTimestamp, scheduleId, cancelableBy);
        return true;
    }

    function batchFundReleaseSchedule(
        address[] calldata to,
        uint256[] calldata amounts,
        uint256[] calldata commencementTimestamps,
        uint256[] calldata scheduleIds,
        address[] calldata cancelableBy
    ) external returns (bool) {
        for (uint256 i = 0; i < to.length; i++) {
            fund(to[i], amounts[i], commencementTimestamps[i], scheduleIds[i], cancelableBy);
        }
        return true;
    }

    /// Claims unlocked tokens of one grant, for oneself or for another account.
    function transferTimelock(address to, uint256 amount, uint256 timelockId) external returns (bool) {
        checkFrozen(msg.sender, to);
        takeClaim(msg.sender, amount, timelockId);
        simple[to] += amount;
        logClaim(msg.sender, to, amount);
        return true;
    }

    function cancelTimelock(
        address target,
        uint256 timelockIndex,
        uint256 scheduleId,
        uint256 commencementTimestamp,
        uint256 amount,
        address reclaimTokenTo
    ) external returns (bool) {
        (uint256 canceled, uint256 paid) = closeTimelock(
            target,
            timelockIndex,
            scheduleId,
            commencementTimestamp,
            amount
        );
        simple[reclaimTokenTo] += canceled;
        simple[target] += paid;
        logCancel(target, reclaimTokenTo, canceled, paid);
        emit TimelockCanceled(msg.sender, target, timelockIndex, reclaimTokenTo, canceled, paid);
        return true;
    }

    function send(address from, address to, uint256 amount) internal {
        checkFrozen(from, to);
        (uint256 unlockedPart, uint256 simplePart) = take(from, amount);
        simple[to] += amount;
        logSend(from, to, unlockedPart, simplePart);
    }

    function fund(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        address[] calldata cancelableBy
    ) internal {
        checkFrozen(msg.sender, to);
        (uint256 unlockedPart, uint256 simplePart) = take(msg.sender, amount);
        uint256 id = openTimelock(to, amount, commencementTimestamp, scheduleId, cancelableBy);
        logFund(msg.sender, to, unlockedPart, simplePart);
        emit ScheduleFunded(
            msg.sender,
            to,
            scheduleId,
            amount,
            commencementTimestamp,
            id,
            cancelableBy
        );
    }

    /// Unlocked tokens are spent before simple ones.
    function take(address from, uint256 amount) private returns (uint256 unlockedPart, uint256 simplePart) {
        unlockedPart = takeUnlocked(from, amount);
        simplePart = amount - unlockedPart;
        require(simple[from] >= simplePart, "balance too low");
        simple[from] -= simplePart;
    }

    function checkFrozen(address from, address to) internal view {
        require(!frozen[from] && !frozen[to], "frozen");
    }

    function logMint(address to, uint256 amount) internal virtual {
        emit Transfer(address(0), to, amount);
        welcome(to);
    }

    function logBurn(address from, uint256 amount) internal virtual {
        emit Transfer(from, address(0), amount);
    }

    function logsApprovalOfTransferFrom() internal pure virtual returns (bool);

    function logSend(address from, address to, uint256 unlockedPart, uint256 simplePart) internal virtual;

    function logFund(address from, address to, uint256 unlockedPart, uint256 simplePart) internal virtual;

    function logClaim(address from, address to, uint256 amount) internal virtual;

    function logCancel(address target, address reclaimTo, uint256 canceled, uint256 paid) internal virtual;
}

/// Forced transfers and batches: from generation 3 on.
abstract contract ForceTransfers is SecurityToken {
    event ForceTransferBetween(
        address indexed admin,
        address indexed from,
        address indexed to,
        uint256 amount
    );

    function batchTransfer(address[] calldata to, uint256[] calldata amounts) external returns (bool) {
        for (uint256 i = 0; i < to.length; i++) send(msg.sender, to[i], amounts[i]);
        return true;
    }

    function forceTransferBetween(address from, address to, uint256 amount) external only(RESERVE_ADMIN) {
        if (logsForceFirst()) emit ForceTransferBetween(msg.sender, from, to, amount);
        bool thawed = frozen[from];
        frozen[from] = false;
        send(from, to, amount);
        frozen[from] = thawed;
        if (!logsForceFirst()) emit ForceTransferBetween(msg.sender, from, to, amount);
    }

    function logsForceFirst() internal pure virtual returns (bool);
}
